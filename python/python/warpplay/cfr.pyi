from typing import Any, Iterable, NamedTuple, Optional, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack

from ._options import CfrOptions, Integer
from ._types import Path, Progress

class AllHands(NamedTuple):
    hands: list[str]
    actions: list[str]
    probabilities: NDArray[np.float64]

@final
class Solver:
    def __new__(
        cls, game: Path, *, device: str = "auto", measure_at: Optional[Iterable[Integer]] = None, **given: Unpack[CfrOptions]
    ) -> "Solver": ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    @property
    def options(self) -> dict[str, Any]: ...
    def exploitability(self) -> dict[str, Any]: ...
    def strategy(self) -> "Strategy": ...

@final
class Strategy:
    @staticmethod
    def load(path: Path) -> "Strategy": ...
    def save(self, path: Path) -> None: ...
    def query(self, history: str = "", *, board: str = "", hand: str) -> dict[str, float]: ...
    def query_all(self, history: str = "", *, board: str = "") -> AllHands: ...

def solve_spot(
    spot: dict[str, Any],
    *,
    device: str = "auto",
    measure_at: Optional[Iterable[Integer]] = None,
    progress: Progress = None,
    **given: Unpack[CfrOptions],
) -> dict[str, Any]: ...

__all__ = ["AllHands", "Solver", "Strategy", "solve_spot"]
