"""Poker solved by counterfactual regret minimisation."""

from ._native import cfr as _native

Solver = _native.Solver
Strategy = _native.Strategy

__all__ = ["Solver", "Strategy"]
