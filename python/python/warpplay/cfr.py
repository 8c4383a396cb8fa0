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


class HandValues(NamedTuple):
    """What ``NodeReport.hands`` returns, arrays by hand of float64. ``strategy`` and ``action_ev`` have no actions for the seat that does not act."""

    hands: "list[str]"
    reach: "_numpy.ndarray"
    ev: "_numpy.ndarray"
    equity: "_numpy.ndarray"
    strategy: "_numpy.ndarray"
    action_ev: "_numpy.ndarray"


HandValues.hands.__doc__ = "The hands, ``[n]`` strings."
HandValues.reach.__doc__ = "Their weights in the range times the probability that the seat plays them to the node ``[n]``."
HandValues.ev.__doc__ = "Expected share of the pot in chips ``[n]``."
HandValues.equity.__doc__ = "Share of the pot that is won if nobody bets any more, 0 to 1 ``[n]``."
HandValues.strategy.__doc__ = "Probabilities of the actions ``[n, n_actions]``."
HandValues.action_ev.__doc__ = "Expected share of the pot after each action ``[n, n_actions]``."


class HandGrid(NamedTuple):
    """What ``NodeReport.grid`` returns: 13 rows of 13 classes, pairs from AA to 22 on the diagonal, hands of one suit above and those of two below it; arrays of float64."""

    names: "list[list[str]]"
    probability: "_numpy.ndarray"
    ev: "_numpy.ndarray"
    equity: "_numpy.ndarray"
    strategy: "_numpy.ndarray"


HandGrid.names.__doc__ = "The classes, as ``AKs``."
HandGrid.probability.__doc__ = "That the seat holds a hand of the class ``[13, 13]``; together 1."
HandGrid.ev.__doc__ = "Mean expected share of the pot in chips ``[13, 13]``."
HandGrid.equity.__doc__ = "Mean share of the pot that is won if nobody bets any more ``[13, 13]``."
HandGrid.strategy.__doc__ = "Mean probabilities of the actions ``[13, 13, n_actions]``; none for the seat that does not act."


Solver = _native.Solver
SpotSolver = _native.SpotSolver
SolvedSpot = _native.SolvedSpot
Node = _native.Node
NodeReport = _native.NodeReport
Practice = _native.Practice
Range = _native.Range
named_ranges = _native.named_ranges
push_fold = _native.push_fold
solve_boards = _native.solve_boards
Strategy = _native.Strategy
solve_spot = _native.solve_spot

__all__ = [
    "AllHands",
    "HandGrid",
    "HandValues",
    "Node",
    "NodeReport",
    "Practice",
    "Range",
    "SolvedSpot",
    "Solver",
    "SpotSolver",
    "Strategy",
    "named_ranges",
    "push_fold",
    "solve_boards",
    "solve_spot",
]
