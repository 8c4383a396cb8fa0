"""Game AI on the GPU: tree search, AlphaZero, perceptrons, shogi and poker.

A device is ``"auto"`` (the first GPU, else the CPU), ``"cuda"``, ``"cuda:1"``, ``"simt"`` or ``"cpu"``. Options are keyword arguments with the names of the library's
options; reports are dictionaries. An object serves one call at a time.
"""

from . import azero, cfr, mcts, mlp, shogi
from ._native import Array, WarpplayError, __version__, devices

__all__ = ["Array", "WarpplayError", "__version__", "azero", "cfr", "devices", "mcts", "mlp", "shogi"]
