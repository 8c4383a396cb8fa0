"""AlphaZero's network for checkers."""

from ._native import Evaluator

__all__ = ["Evaluator"]
