"""Evaluations learnt from a hundred games."""

from pathlib import Path

import numpy as np
import pytest

import warpplay
from arrays import Elsewhere, Lent
from peers import peer
from warpplay.shogi import PIECES, Evaluator, Learner

GAMES = Path(__file__).parents[2] / "tests" / "golden" / "shogi" / "first_100.usi.txt.gz"


def test_learning_lowers_the_objective_and_its_weights_are_kept(tmp_path):
    learner = Learner(GAMES, held_out=0.2, device="cpu", iterations=5, threads=2)
    seen = []
    report = learner.run(progress=lambda progress: seen.append(progress["steps"]))
    assert report["rows"][-1]["j"] < report["rows"][0]["j"] and seen
    path = tmp_path / "weights.safetensors"
    learner.save(path)
    learnt, kept = learner.evaluator(), Evaluator.load(path)
    assert (learnt.weights == kept.weights).all()
    # Nobody is ahead at the start; Black takes a bishop.
    assert kept.evaluate() == 0
    assert kept.evaluate("startpos moves 7g7f 3c3d 8h2b+") > 1


def test_kernels_learn_what_the_cpu_learns():
    def weights(device):
        learner = Learner(GAMES, plies=(40, 42), device=device, iterations=2)
        learner.run()
        return learner.evaluator().weights

    assert (weights("simt") == weights("cpu")).all()


def test_what_is_not_allowed_is_told(tmp_path):
    with pytest.raises(warpplay.WarpplayError, match="missing.usi"):
        Learner(tmp_path / "missing.usi", device="cpu")
    with pytest.raises(TypeError, match="steps is not an option"):
        Learner(GAMES, device="cpu", steps=3)
    with pytest.raises(ValueError, match="nothing is learnt yet"):
        Learner(GAMES, device="cpu").evaluator()
    with pytest.raises(ValueError, match="nothing"):
        Evaluator("nothing", np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="weights"):
        Evaluator("material", np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="weights lies on cuda:3, expected in the host's memory"):
        Evaluator("material", Elsewhere(np.zeros(13, np.float32)))
    with pytest.raises(TypeError, match="weights has values of int64, expected float32"):
        Evaluator("material", np.zeros(13, np.int64))


def test_weights_of_another_library_are_copied():
    weights = np.arange(13, dtype=np.float32)
    evaluator = Evaluator("material", Lent(weights))
    weights[...] = 0
    assert (evaluator.weights == np.arange(13)).all()


def test_weights_of_pytorch_and_jax():
    torch, jax = peer("torch"), peer("jax")
    weights = np.arange(13, dtype=np.float32)
    for given in (torch.from_numpy(weights), jax.device_put(weights, jax.devices("cpu")[0])):
        assert (Evaluator("material", given).weights == weights).all()


def test_half_moves_are_a_pair_or_a_range():
    def weights(plies):
        learner = Learner(GAMES, plies=plies, device="cpu", iterations=1)
        learner.run()
        return learner.evaluator().weights

    assert (weights(range(40, 44)) == weights((40, 44))).all()
    assert (weights(range(40, 44, 2)) != weights((40, 44))).any()
    for wrong in (3, (1, 2, 3), "x"):
        with pytest.raises(TypeError, match="plies is not a pair of numbers, nor a range"):
            Learner(GAMES, plies=wrong, device="cpu")
    with pytest.raises(ValueError, match="option plies: -1 is not allowed"):
        Learner(GAMES, plies=(-1, 3), device="cpu")


def test_the_pieces_have_names():
    assert len(PIECES) == 13 and PIECES[0] == "P"
    # A rook is worth what its weight says.
    weights = np.zeros(13, np.float32)
    weights[[0, PIECES.index("B"), PIECES.index("R")]] = 1, 3, 5
    # Black has taken a bishop for nothing, and promoted its own.
    assert Evaluator("material", weights).evaluate("startpos moves 7g7f 3c3d 8h2b+ 3a2b") == 0
    learner = Learner(GAMES, plies=(40, 42), device="cpu", iterations=1)
    assert len(learner.run()["rows"][0]["values"]) == len(PIECES[1:])
