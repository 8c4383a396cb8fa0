"""The network for checkers: shapes, legal actions, the same on back ends."""

import numpy as np
import pytest

import warpplay
from warpplay.azero import Evaluator, SelfPlay, Trainer


def test_policies_are_of_legal_actions_and_sum_to_one():
    evaluator = Evaluator(device="cpu")
    planes, rows, columns, actions = evaluator.shape
    random = np.random.default_rng(1)
    observations = random.integers(0, 2, (3, planes, rows, columns)).astype(np.float32)
    legal = random.integers(0, 2, (3, actions)).astype(np.uint8)
    values, policies = evaluator.evaluate(observations, legal)
    assert values.shape == (3,) and (np.abs(values) <= 1).all()
    assert np.allclose(policies.sum(axis=1), 1) and (policies[legal == 0] == 0).all()
    again, _ = Evaluator(device="cpu").evaluate(observations, legal)
    assert (again == values).all()


def test_what_is_not_allowed_is_told():
    evaluator = Evaluator(device="cpu")
    planes, rows, columns, actions = evaluator.shape
    with pytest.raises(ValueError, match="observations has the shape"):
        evaluator.evaluate(np.zeros((1, rows, columns, planes), np.float32), np.ones((1, actions), np.uint8))
    with pytest.raises(ValueError, match="legal has the shape"):
        evaluator.evaluate(np.zeros((1, planes, rows, columns), np.float32), np.ones((2, actions), np.uint8))
    with pytest.raises(ValueError, match="at most 128 at once"):
        many = np.broadcast_to(np.float32(0), (2**32, planes, rows, columns))
        evaluator.evaluate(many, np.broadcast_to(np.uint8(1), (2**32, actions)))
    with pytest.raises(TypeError, match="search.simulatons is not an option; allowed are .*simulations"):
        SelfPlay(device="cpu", search={"simulatons": 4})
    with pytest.raises(warpplay.WarpplayError, match="missing.pt"):
        Evaluator("missing.pt", device="cpu")


def test_games_are_played_and_learnt_from(tmp_path):
    play = SelfPlay(device="cpu", seed=3, games=2, parallel=2, search={"simulations": 4})
    report = play.run()
    # The other fields are those of self-play, which draws its first moves.
    assert report["options"]["search"]["simulations"] == 4 and report["options"]["search"]["temperature_plies"] > 0
    # A report's own options play its games again.
    again = SelfPlay(device="cpu", **report["options"])
    again.run()
    assert again.games == play.games
    assert report["games"] == 2 and len(play.games) == 2
    path = tmp_path / "games.jsonl"
    play.save_games(path)
    trainer = Trainer([path], device="cpu", batch=8, steps=1, epochs=1)
    assert trainer.run()["updates"] == 1
    trainer.save(tmp_path / "net.safetensors")
    assert Evaluator(tmp_path / "net.safetensors", device="cpu").shape == Evaluator(device="cpu").shape
