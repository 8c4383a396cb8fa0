"""Evaluations of shogi positions, learnt from game records.

``PIECES`` has the names of the 13 kinds of pieces, the pawn first, in the order of the weights of ``material``; the 12 after the pawn, whose value is 1, are ``PIECES[1:]``: a
report's ``values``, and the option ``init``.
"""

from ._native import shogi as _native

Evaluator = _native.Evaluator
Learner = _native.Learner

PIECES = ("P", "L", "N", "S", "G", "B", "R", "+P", "+L", "+N", "+S", "+B", "+R")

__all__ = ["PIECES", "Evaluator", "Learner"]
