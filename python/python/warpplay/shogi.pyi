from typing import Any, Optional, Tuple, Union, final

import numpy as np
from numpy.typing import NDArray

from ._types import Floats, Path, Progress

@final
class Learner:
    def __new__(
        cls,
        games: Path,
        *,
        plies: Optional[Union[Tuple[int, int], range]] = None,
        held_out: Optional[float] = None,
        device: str = "auto",
        **given: Any,
    ) -> "Learner": ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    def save(self, path: Path) -> None: ...
    @property
    def options(self) -> dict[str, Any]: ...
    def evaluator(self) -> "Evaluator": ...

@final
class Evaluator:
    def __new__(cls, features: str, weights: Floats) -> "Evaluator": ...
    @staticmethod
    def load(path: Path) -> "Evaluator": ...
    def evaluate(self, position: str = "startpos") -> float: ...
    @property
    def weights(self) -> NDArray[np.float32]: ...

PIECES: Tuple[str, ...]

__all__ = ["PIECES", "Evaluator", "Learner"]
