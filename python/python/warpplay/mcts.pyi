from typing import Any, final

from ._types import Progress

@final
class Search:
    def __new__(cls, game: str = "connect4", *, device: str = "auto", **given: Any) -> "Search": ...
    def run(self, moves: str = "", *, progress: Progress = None) -> dict[str, Any]: ...
    @property
    def options(self) -> dict[str, Any]: ...

__all__ = ["Search"]
