from os import PathLike
from typing import Any, Callable, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

Path = Union[str, PathLike[str]]
Progress = Optional[Callable[[dict[str, Any]], Optional[bool]]]

class Network:
    def __init__(self, layers: Sequence[Tuple[NDArray[np.float32], NDArray[np.float32]]]) -> None: ...
    @staticmethod
    def load(path: Path) -> "Network": ...
    def save(self, path: Path, *, pytorch: bool = False) -> None: ...
    @property
    def layers(self) -> list[Tuple[NDArray[np.float32], NDArray[np.float32]]]: ...

class Trainer:
    def __init__(
        self,
        images: NDArray[np.uint8],
        labels: NDArray[np.uint8],
        *,
        test_images: Optional[NDArray[np.uint8]] = None,
        test_labels: Optional[NDArray[np.uint8]] = None,
        device: str = "auto",
        **options: Any,
    ) -> None: ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    def network(self) -> Network: ...

class Classifier:
    def __init__(self, network: Network, *, device: str = "auto", **options: Any) -> None: ...
    def predict(self, images: NDArray[np.uint8]) -> NDArray[np.uint32]: ...
    def predict_proba(self, images: NDArray[np.uint8]) -> NDArray[np.float32]: ...
