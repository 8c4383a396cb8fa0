"""The network for checkers: shapes, legal actions, the same on back ends."""

import numpy as np
import pytest

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
    with pytest.raises(ValueError):
        evaluator.evaluate(np.zeros((1, planes, rows, columns), np.float32), np.ones((2, actions), np.uint8))
    with pytest.raises(Exception, match="missing.pt"):
        Evaluator("missing.pt", device="cpu")


def test_games_are_played_and_learnt_from(tmp_path):
    search = {"simulations": 4}
    play = SelfPlay(device="cpu", seed=3, games=2, parallel=2)
    options = play.run(progress=lambda progress: False)["options"]
    assert len(play.games) <= 2 and options["games"] == 2
    options["search"].update(search)
    play = SelfPlay(device="cpu", seed=3, games=2, parallel=2, search=options["search"])
    report = play.run()
    assert report["games"] == 2 and len(play.games) == 2
    path = tmp_path / "games.jsonl"
    play.save_games(path)
    trainer = Trainer([path], device="cpu", batch=8, steps=1, epochs=1)
    assert trainer.run()["updates"] == 1
    trainer.save(tmp_path / "net.safetensors")
    assert Evaluator(tmp_path / "net.safetensors", device="cpu").shape == Evaluator(device="cpu").shape
