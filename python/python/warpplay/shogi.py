"""Evaluations of shogi positions, learnt from game records."""

from ._native import shogi as _native

Evaluator = _native.Evaluator
Learner = _native.Learner

__all__ = ["Evaluator", "Learner"]
