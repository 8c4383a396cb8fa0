"""Monte Carlo tree search on a device.

>>> search = Search("connect4", device="cpu", n_trees=2, n_playouts=32, steps=20, seed=1)
>>> search.run("4453")["best"]["name"] in "1234567"
True
"""

from ._native import mcts as _native

Search = _native.Search

__all__ = ["Search"]
