"""Kuhn poker: its value is -1/18 to the first player (Kuhn, 1950)."""

import numpy as np
import pytest

import warpplay
from warpplay.cfr import AllHands, Solver, Strategy, push_fold, solve_spot

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


def test_a_file_is_given_as_a_path(tmp_path):
    path = tmp_path / "kuhn.game"
    path.write_text(KUHN)
    assert Solver(path, device="cpu", iterations=1).run()["iterations"] == 1
    with pytest.raises(ValueError, match="looks like the path of a file: give pathlib.Path"):
        Solver(str(path), device="cpu")
    with pytest.raises(warpplay.WarpplayError, match="missing.game"):
        Solver(tmp_path / "missing.game", device="cpu")
    with pytest.raises(TypeError, match="game is not a name"):
        Solver(3, device="cpu")


def test_query_all_has_names(tmp_path):
    solver = Solver("kuhn", device="cpu", iterations=10)
    solver.run()
    found = solver.strategy().query_all("r")
    assert isinstance(found, AllHands) and found.actions == ["f", "c"]
    assert found.probabilities.shape == (len(found.hands), 2)


# AA or 65s against QQ, for the pot: in equilibrium AA wins 150, and the bluffs nothing.
SPOT = {
    "pot": 100,
    "effective_stack": 100,
    "bet_fraction_of_pot": 1.0,
    "flop": "Ks 7h 2d",
    "turn": "8c",
    "river": "3s",
    "ranges": ["AA,65s", "QQ"],
}


def test_a_spot_is_solved():
    report = solve_spot(SPOT, device="cpu", algorithm="cfr_plus", iterations=500, measure_at=[100])
    assert list(report["trajectory"]) == [100, 500]
    # The value is within the exploitability of the game's, for either seat.
    chips = report["trajectory"][500]
    assert chips < 0.5 and abs(report["ev"][0] - 90) <= 2 * chips + 1e-3
    assert [hand["hand"] for hand in report["by_hand"][0] if hand["ev"] > 75] == [
        hand["hand"] for hand in report["by_hand"][0] if hand["hand"].count("A") == 2
    ]
    # The sizes by street, as a file has them.
    sized = dict(SPOT, bet_sizes={"river": [0.5, "75%", "all-in"]}, rake={"part": 0.05, "cap": 3})
    report = solve_spot(sized, device="cpu", iterations=1)
    assert len(report["actions"][""]) == 4 and sum(report["ev"]) < 100


def test_a_spot_ends_where_progress_says_so():
    long = dict(SPOT, flop="Qs Jh 2h", ranges=["22+", "22+"], bet_fraction_of_pot=0.5, effective_stack=300)
    del long["turn"], long["river"]
    report = solve_spot(dict(long, turn="2d"), device="cpu", iterations=1_000_000, progress=lambda _: False)
    assert report["iterations"] < 1_000_000


def test_a_spot_that_is_stopped_at_once_has_an_iteration():
    for device in ("cpu", "simt"):
        steps = []

        def progress(told):
            steps.append(told["steps"])
            return False

        report = solve_spot(SPOT, device=device, iterations=1000, measure_at=[1, 2, 3], progress=progress)
        assert steps == [1] and report["iterations"] == 1 and list(report["trajectory"]) == [1]


def test_progress_of_a_spot_is_told_within_it():
    told = []
    report = solve_spot(SPOT, device="cpu", iterations=200, measure_at=[50, 100], progress=told.append)
    # With every measurement; several times a second beside.
    assert {50, 100, 200} <= {said["steps"] for said in told}
    assert [said["steps"] for said in told] == sorted(said["steps"] for said in told)
    assert all(said["n_steps"] == 200 and said["fraction"] == said["steps"] / 200 for said in told)
    # Who is asked changes nothing.
    alone = solve_spot(SPOT, device="cpu", iterations=200, measure_at=[50, 100])
    assert (alone["ev"], alone["trajectory"]) == (report["ev"], report["trajectory"])


@pytest.mark.parametrize(
    "field, value, kind, text",
    [
        ("pot", "x", ValueError, 'option spot.pot: "x" is not allowed (a number)'),
        ("pot", None, ValueError, "option spot.pot: None is not allowed (a number)"),
        ("pot", {1}, TypeError, "option spot.pot: a set is not a value of an option"),
        ("turn", 8, ValueError, "option spot.turn: 8 is not allowed (a name)"),
        ("ranges", ["AA", 3], ValueError, "option spot.ranges[1]: 3 is not allowed (a name)"),
        ("ranges", ["AA", {3}], TypeError, "option spot.ranges[1]: a set is not a value of an option"),
        ("ranges", ["AA"], ValueError, "option spot.ranges: a list of 1 is not allowed (a list of 2 values)"),
        ("bet_sizes", {"river": 0.5}, ValueError, "option spot.bet_sizes.river: 0.5 is not allowed (a list)"),
        ("bet_sizes", {"river": ["x"]}, ValueError, 'option spot.bet_sizes.river: size "x" is not allowed'),
        ("bet_sizes", {"preflop": [1]}, TypeError, "spot.bet_sizes.preflop is not an option; allowed are flop, turn, river"),
        ("max_raises", {"river": -1}, ValueError, "option spot.max_raises.river: -1 is not allowed (a whole number, 0 to"),
        ("rake", {"part": 0.05}, ValueError, "option spot.rake: the field cap is missing"),
        ("locks", [{"history": "c", "seat": "x", "strategy": [1]}], ValueError, 'option spot.locks[0].seat: "x" is not allowed'),
        ("locks", [{"history": "c", "seat": 1, "strategy": 3}], ValueError, "option spot.locks[0].strategy: 3 is not allowed (a list of probabilities"),
        ("locks", [{"history": "c", "seats": 1, "strategy": [1]}], TypeError, "spot.locks[0].seats is not an option; allowed are history, seat, runout, strategy"),
    ],
)
def test_an_error_names_the_field_of_a_spot(field, value, kind, text):
    with pytest.raises(kind) as found:
        solve_spot({**SPOT, field: value}, device="cpu")
    assert str(found.value).startswith(text), found.value


def test_what_is_wrong_with_a_spot_is_told():
    with pytest.raises(TypeError, match="spot is a str: a dictionary is expected"):
        solve_spot("AA", device="cpu")
    with pytest.raises(ValueError, match="option spot: the field pot is missing"):
        solve_spot({name: value for name, value in SPOT.items() if name != "pot"}, device="cpu")
    with pytest.raises(TypeError, match="spot.stack is not an option; allowed are pot"):
        solve_spot(dict(SPOT, stack=3), device="cpu")
    with pytest.raises(TypeError, match="steps is not an option"):
        solve_spot(SPOT, device="cpu", steps=3)
    with pytest.raises((ValueError, warpplay.WarpplayError), match="Kx"):
        solve_spot(dict(SPOT, flop="Kx 7h 2d"), device="cpu")


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_the_rest_of_a_hand_is_solved_anew(device, tmp_path):
    blueprint = Solver("leduc", device=device, abstraction="lossless,strength:3", batch=32, iterations=60)
    assert blueprint.options["sampling"] == "chance"
    blueprint.run()
    strategy = blueprint.strategy()
    profile, bound = strategy.profile(device=device), strategy.local_best_response(deals=100)
    assert profile["nash_conv"] == pytest.approx(sum(profile["best_response"]) - sum(profile["value"]))
    # Beyond four standard errors lies a mean once in 30,000.
    assert bound["exploitability_at_least"] <= profile["exploitability"] + 4 * bound["sampled"]["standard_error"]
    rest = strategy.resolve("cc/", board="4c", seat=0, device=device, iterations=60, measure_at=[1, 60])
    points = rest.run()["trajectory"]
    # What the best response wins more cannot be less than nothing.
    assert [point["iteration"] for point in points] == [1, 60]
    assert all(point["nash_conv"] >= 0.0 for point in points) and points[0]["nash_conv"] > points[1]["nash_conv"]
    rest.strategy().save(tmp_path / "rest")
    found = Strategy.load(tmp_path / "rest").query(board="4c", hand="4d")
    assert sorted(found) == ["c", "r"] and sum(found.values()) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="option seat: 2 is not allowed"):
        strategy.resolve("cc/", board="4c", seat=2, device=device)
    with pytest.raises(ValueError, match="option updates: simultaneous is not allowed"):
        strategy.resolve("cc/", board="4c", seat=0, device=device, updates="simultaneous")
    with pytest.raises(ValueError, match="option abstraction: 'median:3'"):
        Solver("leduc", device=device, abstraction="median:3,lossless")
    with pytest.raises(ValueError, match="option sampling: public_chance is not allowed"):
        Solver("leduc", device=device, abstraction="lossless,lossless", sampling="public_chance")
    # An algorithm that needs all deals gets them.
    least = Solver("leduc", device=device, abstraction="strength:2,strength:2", algorithm="cfr_br", iterations=3)
    assert least.options["sampling"] == "none"
    assert least.run()["trajectory"][-1]["nash_conv"] > 0.0


def test_pushing_and_folding():
    chart = push_fold(10, device="cpu")
    assert len(chart["push"]) == len(chart["call"]) == 169
    assert chart["push"]["AA"] > 0.999 and chart["call"]["72o"] < 0.001 and chart["exploitability"] < 0.01
    with pytest.raises(ValueError, match="option stack: 0.5 is not allowed"):
        push_fold(0.5, device="cpu")
