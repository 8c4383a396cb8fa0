"""The network for checkers: shapes, legal actions, the same on back ends."""

import numpy as np
import pytest

import warpplay
from warpplay.azero import ACTIONS, Evaluator, SelfPlay, Trainer, observe


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


def test_a_position_is_made_from_moves():
    evaluator = Evaluator(device="cpu")
    observations, legal = observe()
    assert observations.shape == (1, *evaluator.shape[:3]) and legal.shape == (1, evaluator.shape[3])
    # Twelve men each, no king, 40 empty squares; seven moves, White's at the bottom.
    assert observations.sum(axis=(0, 2, 3)).tolist() == [12, 0, 12, 0, 40]
    assert observations[0, 0, 5:].sum() == 12
    names = [ACTIONS[action] for action in np.flatnonzero(legal[0])]
    assert sorted(names) == ["a3b4", "c3b4", "c3d4", "e3d4", "e3f4", "g3f4", "g3h4"]
    assert (evaluator.value_of, evaluator.layout, len(ACTIONS)) == ("first", "default", 512)
    after, legal_after = evaluator.observe("a3b4")
    assert after[0, 0, 4, 1] == 1 and after[0, 0, 5, 0] == 0 and (legal_after != legal).any()
    # By the player to move, Black, its own men are first.
    own, _ = observe("a3b4", layout="egocentric")
    assert (own[0, 0] == after[0, 2]).all() and (own[0, 2] == after[0, 0]).all()
    values, policies = evaluator.evaluate(after, legal_after)
    assert values.shape == (1,) and (policies[legal_after == 0] == 0).all()
    with pytest.raises(ValueError, match="move 1 .`a3c5`. is illegal"):
        observe("a3c5")
    with pytest.raises(ValueError, match="upside is not allowed .default, egocentric, legacy"):
        observe(layout="upside")


def test_arrays_of_other_values_are_told():
    evaluator = Evaluator(device="cpu")
    observations, legal = observe()
    expected = evaluator.evaluate(observations, legal)
    found = evaluator.evaluate(observations, legal.astype(bool))
    assert all((one == other).all() for one, other in zip(found, expected))
    for wrong, text in [
        ((observations.astype(np.float64), legal), "observations has values of float64, expected float32"),
        ((observations.astype(">f4"), legal), "observations has values of >f4, expected float32"),
        ((observations, legal.astype(np.int64)), "legal has values of int64, expected uint8"),
        ((legal, observations), "observations has values of uint8, expected float32"),
    ]:
        with pytest.raises(TypeError, match=text):
            evaluator.evaluate(*wrong)
    with pytest.raises(ValueError, match="observations has the shape .5, 8, 8., expected 4 dimensions"):
        evaluator.evaluate(observations[0], legal)


def test_a_path_alone_is_a_list_of_one(tmp_path):
    play = SelfPlay(device="cpu", seed=3, games=2, parallel=2, search={"simulations": 2})
    play.run()
    path = tmp_path / "games.jsonl"
    play.save_games(path)
    assert set("".join(board for game in play.games for board in game["boards"])) <= set("o8+*.")
    for given in (path, str(path), [str(path)]):
        assert Trainer(given, device="cpu", batch=8, steps=1, epochs=1).run()["updates"] == 1
    for given in (3, [3]):
        with pytest.raises(TypeError, match="games is not a path, nor a list of paths"):
            Trainer(given, device="cpu")
