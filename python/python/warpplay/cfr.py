"""Poker solved by counterfactual regret minimisation.

>>> spot = {"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c", "river": "3s", "ranges": ["AA,65s", "QQ"]}
>>> report = solve_spot(spot, device="cpu", algorithm="cfr_plus", iterations=300)
>>> abs(report["ev"][0] - 90) < 1  # six hands AA win 150, four hands 65s 0
True
"""

from typing import NamedTuple

import numpy as _numpy

from ._native import cfr as _native


class AllHands(NamedTuple):
    """What ``Strategy.query_all`` returns: the hands, the actions, and probabilities ``[n_hands, n_actions]``."""

    hands: "list[str]"
    actions: "list[str]"
    probabilities: "_numpy.ndarray"


AllHands.hands.__doc__ = "The hands, ``[n_hands]`` strings."
AllHands.actions.__doc__ = "The actions, ``[n_actions]`` strings."
AllHands.probabilities.__doc__ = "Probabilities ``[n_hands, n_actions]`` float64, whose rows sum to 1."


Solver = _native.Solver
Strategy = _native.Strategy
solve_spot = _native.solve_spot

__all__ = ["AllHands", "Solver", "Strategy", "solve_spot"]
