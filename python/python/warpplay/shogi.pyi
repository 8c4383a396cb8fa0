from typing import Any, Optional, Tuple, Union, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack

from ._options import Features, Integer, Number, ShogiOptions
from ._types import Floats, Path, Progress

@final
class Learner:
    def __new__(
        cls,
        games: Path,
        *,
        plies: Optional[Union[Tuple[Integer, Integer], range]] = None,
        held_out: Optional[Number] = None,
        device: str = "auto",
        **given: Unpack[ShogiOptions],
    ) -> "Learner": ...
    def run(self, *, progress: Progress = None) -> dict[str, Any]: ...
    def save(self, path: Path) -> None: ...
    @property
    def options(self) -> dict[str, Any]: ...
    def evaluator(self) -> "Evaluator": ...

@final
class Evaluator:
    def __new__(cls, features: Features, weights: Floats) -> "Evaluator": ...
    @staticmethod
    def load(path: Path) -> "Evaluator": ...
    def evaluate(self, position: str = "startpos") -> float: ...
    @property
    def weights(self) -> NDArray[np.float32]: ...

PIECES: Tuple[str, ...]

__all__ = ["PIECES", "Evaluator", "Learner"]
