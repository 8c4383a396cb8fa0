from typing import Any, Optional, Sequence, Tuple, Union, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack

from . import Array
from ._options import Activation, MlpOptions
from ._perceptron import PerceptronClassifier as PerceptronClassifier
from ._types import Bytes, Floats, Labels, Path, Progress, Shared

@final
class Network:
    def __new__(
        cls,
        layers: Sequence[Tuple[Floats, Floats]],
        *,
        activation: Activation = "relu",
        layer_norms: Sequence[Tuple[Floats, Floats]] = [],
        batch_norms: Sequence[Tuple[Floats, Floats, Floats, Floats]] = [],
    ) -> "Network": ...
    @staticmethod
    def load(path: Path, *, activation: Optional[Activation] = None) -> "Network": ...
    def __getnewargs_ex__(self) -> Tuple[Tuple[list[Tuple[NDArray[np.float32], NDArray[np.float32]]]], dict[str, Any]]: ...
    def save(self, path: Path, *, pytorch: bool = False) -> None: ...
    def save_onnx(self, path: Path, *, image_size: Optional[Tuple[int, int]] = None, softmax: bool = False, features: bool = False) -> None: ...
    @property
    def activation(self) -> Activation: ...
    @property
    def layer_norms(self) -> list[Tuple[NDArray[np.float32], NDArray[np.float32]]]: ...
    @property
    def batch_norms(
        self,
    ) -> list[Tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]]: ...
    @property
    def layers(self) -> list[Tuple[NDArray[np.float32], NDArray[np.float32]]]: ...

@final
class Trainer:
    def __new__(
        cls,
        images: Union[Bytes, Floats],
        labels: Union[Labels, Floats],
        *,
        test_images: Optional[Union[Bytes, Floats]] = None,
        test_labels: Optional[Union[Labels, Floats]] = None,
        device: str = "auto",
        **given: Unpack[MlpOptions],
    ) -> "Trainer": ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    @property
    def options(self) -> dict[str, Any]: ...
    def network(self) -> Network: ...

@final
class Classifier:
    def __new__(cls, network: Network, *, device: str = "auto", features: bool = False, **given: Unpack[MlpOptions]) -> "Classifier": ...
    @property
    def options(self) -> dict[str, Any]: ...
    @overload
    def logits(self, images: Union[NDArray[np.uint8], NDArray[np.float32]]) -> NDArray[np.float32]: ...
    @overload
    def logits(self, images: Shared) -> Array: ...
    @overload
    def predict(self, images: Union[NDArray[np.uint8], NDArray[np.float32]]) -> NDArray[np.uint32]: ...
    @overload
    def predict(self, images: Shared) -> Array: ...
    @overload
    def predict_proba(self, images: Union[NDArray[np.uint8], NDArray[np.float32]]) -> NDArray[np.float32]: ...
    @overload
    def predict_proba(self, images: Shared) -> Array: ...

__all__ = ["Classifier", "Network", "PerceptronClassifier", "Trainer"]
