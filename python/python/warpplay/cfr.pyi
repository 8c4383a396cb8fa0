from typing import Any, Iterable, NamedTuple, Optional, Union, final

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
        cls,
        game: Path,
        *,
        device: str = "auto",
        measure_at: Optional[Iterable[Integer]] = None,
        abstraction: Optional[Path] = None,
        **given: Unpack[CfrOptions],
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
    def resolve(
        self,
        history: str,
        *,
        board: str = "",
        seat: int,
        device: str = "auto",
        measure_at: Optional[Iterable[Integer]] = None,
        **given: Unpack[CfrOptions],
    ) -> Solver: ...
    def query_all(self, history: str = "", *, board: str = "") -> AllHands: ...
    def profile(self, *, device: str = "auto") -> dict[str, Any]: ...
    def local_best_response(self, *, deals: Integer, seed: Integer = 1) -> dict[str, Any]: ...

class HandValues(NamedTuple):
    hands: list[str]
    reach: NDArray[np.float64]
    ev: NDArray[np.float64]
    equity: NDArray[np.float64]
    strategy: NDArray[np.float64]
    action_ev: NDArray[np.float64]

class HandGrid(NamedTuple):
    names: list[list[str]]
    probability: NDArray[np.float64]
    ev: NDArray[np.float64]
    equity: NDArray[np.float64]
    strategy: NDArray[np.float64]

@final
class SpotSolver:
    def __new__(
        cls,
        spot: dict[str, Any],
        *,
        device: str = "auto",
        target: Union[float, str, None] = None,
        measure_at: Optional[Iterable[Integer]] = None,
        checkpoint: Optional[Path] = None,
        checkpoint_every: Optional[float] = None,
        **given: Unpack[CfrOptions],
    ) -> "SpotSolver": ...
    @staticmethod
    def resume(
        path: Path,
        *,
        device: str = "auto",
        target: Union[float, str, None] = None,
        iterations: Optional[Integer] = None,
        checkpoint: Optional[Path] = None,
        checkpoint_every: Optional[float] = None,
    ) -> "SpotSolver": ...
    def run(self, *, progress: Progress = None) -> float: ...
    def exploitability(self) -> float: ...
    def save(self, path: Path, *, form: str = "full") -> None: ...
    def solved(self) -> "SolvedSpot": ...
    def report(self) -> dict[str, Any]: ...
    @property
    def iterations(self) -> int: ...
    @property
    def trajectory(self) -> dict[int, float]: ...
    @property
    def options(self) -> dict[str, Any]: ...
    @property
    def memory_needed(self) -> str: ...

@final
class SolvedSpot:
    @staticmethod
    def open(path: Path) -> "SolvedSpot": ...
    def root(self) -> "Node": ...
    def at(self, history: str = "", *, board: str = "") -> "Node": ...
    @property
    def spot(self) -> dict[str, Any]: ...
    @property
    def options(self) -> dict[str, Any]: ...
    @property
    def iterations(self) -> int: ...
    @property
    def trajectory(self) -> dict[int, float]: ...

@final
class Practice:
    def __new__(cls, solved: "SolvedSpot", history: str = "", *, board: str = "", seed: Integer = 1) -> "Practice": ...
    def deal(self, seat: Integer) -> dict[str, Any]: ...
    def judge(self) -> dict[str, Any]: ...
    def act(self, action: str) -> dict[str, Any]: ...
    def records(self) -> list[dict[str, Any]]: ...
    def score(self) -> dict[str, Any]: ...
    @property
    def hand(self) -> Optional[dict[str, Any]]: ...

@final
class Node:
    def child(self, action: str) -> "Node": ...
    def deal(self, card: str) -> "Node": ...
    def strategy(self, hand: str) -> dict[str, float]: ...
    def report(self) -> "NodeReport": ...
    @property
    def history(self) -> str: ...
    @property
    def board(self) -> str: ...
    @property
    def dealt(self) -> str: ...
    @property
    def street(self) -> str: ...
    @property
    def pot(self) -> float: ...
    @property
    def seat(self) -> Optional[int]: ...
    @property
    def actions(self) -> list[str]: ...
    @property
    def cards(self) -> list[str]: ...

@final
class NodeReport:
    def hands(self, seat: Integer) -> HandValues: ...
    def grid(self, seat: Integer) -> HandGrid: ...
    @property
    def ev(self) -> list[float]: ...
    @property
    def equity(self) -> list[float]: ...
    @property
    def actions(self) -> list[str]: ...
    @property
    def seat(self) -> Optional[int]: ...

@final
class Range:
    def __new__(cls, text: str) -> "Range": ...
    @property
    def hands(self) -> list[str]: ...
    @property
    def weights(self) -> NDArray[np.float64]: ...
    @property
    def combos(self) -> float: ...

def named_ranges() -> dict[str, str]: ...
def solve_boards(
    spot: dict[str, Any],
    boards: str = "all",
    *,
    device: str = "auto",
    target: Union[float, str, None] = None,
    progress: Progress = None,
    **given: Unpack[CfrOptions],
) -> dict[str, Any]: ...
def push_fold(
    stack: float,
    *,
    small_blind: float = 0.5,
    ante: float = 0.0,
    iterations: int = 500,
    device: str = "auto",
) -> dict[str, Any]: ...
def solve_spot(
    spot: dict[str, Any],
    *,
    device: str = "auto",
    measure_at: Optional[Iterable[Integer]] = None,
    progress: Progress = None,
    **given: Unpack[CfrOptions],
) -> dict[str, Any]: ...

__all__ = [
    "AllHands",
    "HandGrid",
    "HandValues",
    "Node",
    "NodeReport",
    "Practice",
    "Range",
    "SolvedSpot",
    "Solver",
    "SpotSolver",
    "Strategy",
    "named_ranges",
    "push_fold",
    "solve_boards",
    "solve_spot",
]
