from typing import Any, Optional, Tuple, final

import numpy as np
from numpy.typing import NDArray

from ._types import Floats, Path, Progress

@final
class Learner:
    def __new__(
        cls,
        games: Path,
        *,
        plies: Tuple[int, int] = ...,
        held_out: Optional[float] = None,
        device: str = "auto",
        **given: Any,
    ) -> "Learner": ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    def save(self, path: Path) -> None: ...
    def evaluator(self) -> "Evaluator": ...

@final
class Evaluator:
    def __new__(cls, features: str, weights: Floats) -> "Evaluator": ...
    @staticmethod
    def load(path: Path) -> "Evaluator": ...
    def evaluate(self, position: str = "startpos") -> float: ...
    @property
    def weights(self) -> NDArray[np.float32]: ...

__all__ = ["Evaluator", "Learner"]
