"""Kuhn poker: its value is -1/18 to the first player (Kuhn, 1950)."""

import numpy as np
import pytest

import warpplay
from warpplay.cfr import Solver, Strategy

KUHN = """GAMEDEF
numPlayers = 2
numRounds = 1
blind = 1 1
raiseSize = 1
maxRaises = 1
numSuits = 1
numRanks = 3
numHoleCards = 1
numBoardCards = 0
END GAMEDEF
"""


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_kuhn_is_solved(device, tmp_path):
    solver = Solver(KUHN, device=device, algorithm="cfr_plus", iterations=1000)
    report = solver.run()
    assert report["iterations"] == 1000
    found = solver.exploitability()
    # The value is within the NashConv of the game's.
    assert found["nash_conv"] < 0.01
    assert abs(found["value"][0] + 1 / 18) <= found["nash_conv"] + 1e-9
    path = tmp_path / "kuhn.strategy"
    solver.strategy().save(path)
    answer = Strategy.load(path).query("r", hand="4c")
    # Who has the best card calls a bet.
    assert answer["c"] > 0.99
    hands, actions, probabilities = Strategy.load(path).query_all("r")
    assert (hands, actions) == (["2c", "3c", "4c"], ["f", "c"])
    assert probabilities.dtype == np.float64 and probabilities.shape == (3, 2)
    assert probabilities[2, 1] == answer["c"] and np.allclose(probabilities.sum(axis=1), 1)
    # With the worst card nobody calls.
    assert probabilities[0, 0] > 0.99


def test_games_have_names():
    values = [
        Solver(game, device="cpu", algorithm="cfr_plus", iterations=10).run()["trajectory"][-1]["value"]
        for game in ("kuhn", KUHN)
    ]
    assert values[0] == values[1]
    assert Solver("leduc", device="cpu", iterations=1).run()["iterations"] == 1


def test_what_is_not_allowed_is_told():
    with pytest.raises(ValueError, match="option algorithm"):
        Solver(KUHN, device="cpu", algorithm="magic")
    for wrong in ([0], [1, 11]):
        with pytest.raises(ValueError, match=f"option measure_at: {wrong[-1]} is not allowed .1 to 10, the iterations"):
            Solver(KUHN, device="cpu", iterations=10, measure_at=wrong)
    with pytest.raises(warpplay.WarpplayError, match="GAMEDEF"):
        Solver("no game", device="cpu")
