from os import PathLike
from typing import Any, Callable, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

Path = Union[str, PathLike[str]]
Progress = Optional[Callable[[dict[str, Any]], Optional[bool]]]

class Evaluator:
    def __init__(self, weights: Optional[Path] = None, *, seed: int = 27, device: str = "auto", **options: Any) -> None: ...
    def evaluate(
        self, observations: NDArray[np.float32], legal: NDArray[np.uint8]
    ) -> Tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    @property
    def shape(self) -> Tuple[int, int, int, int]: ...

class SelfPlay:
    def __init__(
        self, weights: Optional[Path] = None, *, network_seed: int = 27, seed: Optional[int] = None, device: str = "auto", **options: Any
    ) -> None: ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    @property
    def games(self) -> list[dict[str, Any]]: ...
    def save_games(self, path: Path) -> None: ...

class Trainer:
    def __init__(
        self,
        games: Sequence[Path],
        weights: Optional[Path] = None,
        *,
        network_seed: int = 27,
        device: str = "auto",
        **options: Any,
    ) -> None: ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    def save(self, path: Path) -> None: ...
