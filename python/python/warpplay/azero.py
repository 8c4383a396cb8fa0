"""AlphaZero's network for checkers, its games and its training."""

from ._native import azero as _native

Evaluator = _native.Evaluator
SelfPlay = _native.SelfPlay
Trainer = _native.Trainer

__all__ = ["Evaluator", "SelfPlay", "Trainer"]
