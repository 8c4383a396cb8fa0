from typing import Any, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ._types import Path, Progress

class Learner:
    def __init__(
        self,
        games: Path,
        *,
        plies: Tuple[int, int] = (40, 80),
        held_out: Optional[float] = None,
        device: str = "auto",
        **options: Any,
    ) -> None: ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    def save(self, path: Path) -> None: ...
    def evaluator(self) -> "Evaluator": ...

class Evaluator:
    def __init__(self, features: str, weights: NDArray[np.float32]) -> None: ...
    @staticmethod
    def load(path: Path) -> "Evaluator": ...
    def evaluate(self, position: str = "startpos") -> float: ...
    @property
    def weights(self) -> NDArray[np.float32]: ...
