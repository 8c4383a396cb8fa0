from typing import Any, Optional, Sequence, Tuple, final, overload

import numpy as np
from numpy.typing import NDArray

from . import Array
from ._types import Path, Progress, Shared

@final
class Evaluator:
    def __new__(cls, weights: Optional[Path] = None, *, seed: int = 27, device: str = "auto", **given: Any) -> "Evaluator": ...
    @overload
    def evaluate(
        self, observations: NDArray[np.float32], legal: NDArray[np.uint8]
    ) -> Tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    @overload
    def evaluate(self, observations: Shared, legal: Shared) -> Tuple[Array, Array]: ...
    @property
    def shape(self) -> Tuple[int, int, int, int]: ...

@final
class SelfPlay:
    def __new__(
        cls, weights: Optional[Path] = None, *, network_seed: int = 27, seed: Optional[int] = None, device: str = "auto", **given: Any
    ) -> "SelfPlay": ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    @property
    def games(self) -> list[dict[str, Any]]: ...
    def save_games(self, path: Path) -> None: ...

@final
class Trainer:
    def __new__(
        cls,
        games: Sequence[Path],
        weights: Optional[Path] = None,
        *,
        network_seed: int = 27,
        device: str = "auto",
        **given: Any,
    ) -> "Trainer": ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    def save(self, path: Path) -> None: ...

__all__ = ["Evaluator", "SelfPlay", "Trainer"]
