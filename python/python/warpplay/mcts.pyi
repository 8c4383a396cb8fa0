from typing import Any, final

from typing_extensions import Unpack

from ._options import Game, MctsOptions
from ._types import Progress

@final
class Search:
    def __new__(cls, game: Game = "connect4", *, device: str = "auto", **given: Unpack[MctsOptions]) -> "Search": ...
    def run(self, moves: str = "", *, progress: Progress = None) -> dict[str, Any]: ...
    @property
    def options(self) -> dict[str, Any]: ...

__all__ = ["Search"]
