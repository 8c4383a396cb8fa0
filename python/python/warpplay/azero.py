"""AlphaZero's network for checkers, its games and its training.

``ACTIONS`` has the names of the 512 actions, two squares (``"a3b4"``) each, in the order of policies and of ``legal``.

>>> evaluator = Evaluator(device="cpu")
>>> observations, legal = evaluator.observe("a3b4")
>>> values, policies = evaluator.evaluate(observations, legal)
>>> ACTIONS[policies[0].argmax()] in [name for name, is_legal in zip(ACTIONS, legal[0]) if is_legal]
True
"""

from ._native import azero as _native

ACTIONS = _native.ACTIONS
Evaluator = _native.Evaluator
SelfPlay = _native.SelfPlay
Trainer = _native.Trainer
observe = _native.observe

__all__ = ["ACTIONS", "Evaluator", "SelfPlay", "Trainer", "observe"]
