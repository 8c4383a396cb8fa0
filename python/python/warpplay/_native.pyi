from typing import Any

from . import azero, cfr, mcts, mlp, shogi

__version__: str

class WarpplayError(Exception): ...

def devices() -> list[dict[str, Any]]: ...

__all__ = ["WarpplayError", "__version__", "azero", "cfr", "devices", "mcts", "mlp", "shogi"]
