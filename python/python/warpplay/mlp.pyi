from typing import Any, Optional, Sequence, Tuple, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack

from . import Array
from ._options import MlpOptions
from ._perceptron import PerceptronClassifier as PerceptronClassifier
from ._types import Bytes, Floats, Path, Progress, Shared

@final
class Network:
    def __new__(cls, layers: Sequence[Tuple[Floats, Floats]]) -> "Network": ...
    @staticmethod
    def load(path: Path) -> "Network": ...
    def __getnewargs__(self) -> Tuple[list[Tuple[NDArray[np.float32], NDArray[np.float32]]]]: ...
    def save(self, path: Path, *, pytorch: bool = False) -> None: ...
    @property
    def layers(self) -> list[Tuple[NDArray[np.float32], NDArray[np.float32]]]: ...

@final
class Trainer:
    def __new__(
        cls,
        images: Bytes,
        labels: Bytes,
        *,
        test_images: Optional[Bytes] = None,
        test_labels: Optional[Bytes] = None,
        device: str = "auto",
        **given: Unpack[MlpOptions],
    ) -> "Trainer": ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    @property
    def options(self) -> dict[str, Any]: ...
    def network(self) -> Network: ...

@final
class Classifier:
    def __new__(cls, network: Network, *, device: str = "auto", **given: Unpack[MlpOptions]) -> "Classifier": ...
    @property
    def options(self) -> dict[str, Any]: ...
    @overload
    def logits(self, images: NDArray[np.uint8]) -> NDArray[np.float32]: ...
    @overload
    def logits(self, images: Shared) -> Array: ...
    @overload
    def predict(self, images: NDArray[np.uint8]) -> NDArray[np.uint32]: ...
    @overload
    def predict(self, images: Shared) -> Array: ...
    @overload
    def predict_proba(self, images: NDArray[np.uint8]) -> NDArray[np.float32]: ...
    @overload
    def predict_proba(self, images: Shared) -> Array: ...

__all__ = ["Classifier", "Network", "PerceptronClassifier", "Trainer"]
