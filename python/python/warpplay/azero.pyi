from typing import Any, Literal, Optional, Sequence, Tuple, Union, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack

from . import Array
from ._options import AzeroEvaluatorOptions, AzeroSelfPlayOptions, AzeroTrainerOptions, Integer, Layout
from ._types import Path, Progress, Shared

@final
class Evaluator:
    def __new__(
        cls, weights: Optional[Path] = None, *, seed: Optional[Integer] = None, device: str = "auto", **given: Unpack[AzeroEvaluatorOptions]
    ) -> "Evaluator": ...
    @overload
    def evaluate(
        self, observations: NDArray[np.float32], legal: Union[NDArray[np.uint8], NDArray[np.bool_]]
    ) -> Tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    @overload
    def evaluate(self, observations: Shared, legal: Shared) -> Tuple[Array, Array]: ...
    def observe(self, moves: str = "") -> Tuple[NDArray[np.float32], NDArray[np.uint8]]: ...
    @property
    def value_of(self) -> Literal["first", "mover"]: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def options(self) -> dict[str, Any]: ...
    @property
    def shape(self) -> Tuple[int, int, int, int]: ...

@final
class SelfPlay:
    def __new__(
        cls,
        weights: Optional[Path] = None,
        *,
        network_seed: Optional[Integer] = None,
        seed: Optional[Integer] = None,
        device: str = "auto",
        **given: Unpack[AzeroSelfPlayOptions],
    ) -> "SelfPlay": ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    @property
    def options(self) -> dict[str, Any]: ...
    @property
    def games(self) -> list[dict[str, Any]]: ...
    def save_games(self, path: Path) -> None: ...

@final
class Trainer:
    def __new__(
        cls,
        games: Union[Path, Sequence[Path]],
        weights: Optional[Path] = None,
        *,
        network_seed: Optional[Integer] = None,
        device: str = "auto",
        **given: Unpack[AzeroTrainerOptions],
    ) -> "Trainer": ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    @property
    def options(self) -> dict[str, Any]: ...
    def save(self, path: Path) -> None: ...

def observe(moves: str = "", *, layout: Layout = "default") -> Tuple[NDArray[np.float32], NDArray[np.uint8]]: ...

ACTIONS: Tuple[str, ...]

__all__ = ["ACTIONS", "Evaluator", "SelfPlay", "Trainer", "observe"]
