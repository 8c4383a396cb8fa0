from os import PathLike
from typing import Any, Callable, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

Path = Union[str, PathLike[str]]
Progress = Optional[Callable[[dict[str, Any]], Optional[bool]]]

class Search:
    def __init__(self, game: str = "connect4", *, device: str = "auto", **options: Any) -> None: ...
    def run(self, moves: str = "", *, progress: Progress = None) -> dict[str, Any]: ...
    @property
    def options(self) -> dict[str, Any]: ...
