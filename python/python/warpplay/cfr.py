"""Poker solved by counterfactual regret minimisation."""

from ._native import Solver, Strategy

__all__ = ["Solver", "Strategy"]
