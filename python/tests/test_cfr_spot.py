"""A turn in which who bets the pot has the best hand or nothing: saved, walked, gone on with."""

import numpy as np
import pytest

import warpplay
from warpplay.cfr import HandGrid, HandValues, Practice, Range, SolvedSpot, SpotSolver, named_ranges, solve_boards

RIVER = {
    "pot": 100,
    "effective_stack": 100,
    "bet_fraction_of_pot": 1.0,
    "flop": "Ks 7h 2d",
    "turn": "8c",
    "river": "3s",
    "ranges": ["AA,65s", "QQ"],
}
TURN = {**{field: value for field, value in RIVER.items() if field != "river"}, "max_raises": {"turn": 1, "river": 1}}


def test_a_spot_is_solved_to_a_target_and_walked():
    solver = SpotSolver(RIVER, device="cpu", target="0.5%pot")
    chips = solver.run()
    assert chips <= 0.5 and solver.exploitability() == chips
    assert solver.trajectory[solver.iterations] == chips
    assert "regrets" in solver.memory_needed and solver.options["algorithm"] == "dcfr"
    root = solver.solved().root()
    assert (root.history, root.street, root.pot, root.seat, root.cards) == ("", "river", 100.0, 0, [])
    assert root.actions == ["c", "r100"]
    # AA bets the pot, with half as many bluffs, and QQ calls half the time: AA wins 150, 65s nothing.
    assert root.strategy("AhAd")["r100"] > 0.98
    report = root.report()
    assert isinstance(report.hands(0), HandValues) and isinstance(report.grid(0), HandGrid)
    assert report.seat == 0 and report.actions == root.actions
    assert abs(sum(report.ev) - 100) < 1e-6 and abs(report.ev[0] - 90) < 1
    hands, reach, ev, equity, strategy, action_ev = report.hands(0)
    assert len(hands) == 10 and reach.shape == ev.shape == equity.shape == (10,)
    assert strategy.shape == action_ev.shape == (10, 2) and np.allclose(strategy.sum(axis=1), 1)
    assert np.allclose((strategy * action_ev).sum(axis=1), ev)
    # The seat that does not act has no actions.
    assert report.hands(1).strategy.shape == (3, 0) or report.hands(1).strategy.shape == (6, 0)
    grid = report.grid(0)
    assert grid.names[0][:2] == ["AA", "AKs"] and grid.names[1][0] == "AKo"
    assert np.isclose(grid.probability.sum(), 1) and grid.strategy.shape == (13, 13, 2)
    assert np.isclose((grid.probability * grid.ev).sum(), report.ev[0])
    with pytest.raises(ValueError, match="seat"):
        report.hands(2)


def test_a_file_is_opened_and_gone_on_with(tmp_path):
    path, short = tmp_path / "turn.spot", tmp_path / "short.spot"
    solver = SpotSolver(TURN, device="cpu", iterations=20, measure_at=[10])
    solver.run()
    solver.save(path)
    solver.save(short, form="strategies")
    assert short.stat().st_size < path.stat().st_size
    solved = SolvedSpot.open(path)
    assert solved.iterations == 20 and list(solved.trajectory) == [10, 20] and solved.spot["turn"] == "8c"
    deal = solved.root().child("c").child("c")
    assert deal.seat is None and deal.actions == [] and "4c" in deal.cards and "8c" not in deal.cards
    node = deal.deal("4c")
    same = solved.at("cc/", board="4c")
    assert (node.history, node.dealt, node.street) == (same.history, "4c", "river")
    assert node.strategy("6c5c") == same.strategy("6c5c")
    assert abs(sum(node.report().ev) - node.pot) < 1e-6
    # The same bits, stopped or not.
    resumed = SpotSolver.resume(path, device="cpu", iterations=40)
    whole = SpotSolver(TURN, device="cpu", iterations=40, measure_at=[10, 20])
    assert resumed.run() == whole.run()
    with pytest.raises(warpplay.WarpplayError, match="short.spot"):
        SpotSolver.resume(short, device="cpu")
    with pytest.raises(ValueError, match="form"):
        solver.save(path, form="half")


def test_a_checkpoint_is_written(tmp_path):
    path = tmp_path / "kept.spot"
    solver = SpotSolver(RIVER, device="cpu", iterations=5, checkpoint=path)
    # Stopped after the first answer, it is there.
    solver.run(progress=lambda told: False)
    assert SolvedSpot.open(path).iterations == solver.iterations
    with pytest.raises(ValueError, match="checkpoint_every"):
        SpotSolver(RIVER, device="cpu", checkpoint=path, checkpoint_every=-1.0)


def test_what_is_not_allowed_is_told():
    with pytest.raises(TypeError, match="spot is a str"):
        SpotSolver("AA", device="cpu")
    with pytest.raises(ValueError, match="target"):
        SpotSolver(RIVER, device="cpu", target="half")
    with pytest.raises(ValueError, match="target"):
        SpotSolver(RIVER, device="cpu", target=-1)
    for wrong in (True, [1]):
        with pytest.raises(ValueError, match="target"):
            SpotSolver(RIVER, device="cpu", target=wrong)
    with pytest.raises(ValueError, match="checkpoint_every"):
        SpotSolver(RIVER, device="cpu", checkpoint_every=0.0)
    with pytest.raises(ValueError, match="only with checkpoint"):
        SpotSolver(RIVER, device="cpu", checkpoint_every=60.0)
    solver = SpotSolver(RIVER, device="cpu", iterations=1)
    root = solver.solved().root()
    with pytest.raises(ValueError):
        root.child("r7")
    with pytest.raises(ValueError):
        root.deal("4c")


def test_boards_are_solved_and_grouped():
    told = []

    def progress(at):
        told.append((at["steps"], at["n_steps"]))

    found = solve_boards(TURN, "4c,Kd,7s", device="cpu", iterations=10, progress=progress)
    assert [row["board"] for row in found["rows"]] == ["Ks7h2d8c4c", "Ks7h2d8cKd", "Ks7h2d8c7s"]
    assert found["left"] == [] and abs(sum(found["mean"]["ev"]) - 100) < 1e-3
    assert found["groups"] and all(n == 3 for _, n in told)
    with pytest.raises(ValueError, match="boards"):
        solve_boards(TURN, "8c", device="cpu")


def test_a_range_is_hands_with_weights():
    found = Range("AA,AhKh:0.5")
    assert len(found.hands) == 7 and "AhKh" in found.hands and found.combos == 6.5
    assert found.weights[found.hands.index("AhKh")] == 0.5 and found.weights.sum() == 6.5
    assert all(Range("@" + name).combos > 0 for name in named_ranges())
    with pytest.raises(ValueError, match="AX"):
        Range("AX")


def test_hands_of_a_solved_spot_are_practised():
    solver = SpotSolver(RIVER, device="cpu", target="0.5%pot")
    solver.run()
    solved = solver.solved()
    practice, again = Practice(solved, seed=7), Practice(solved, seed=7)
    assert practice.hand is None and practice.records() == []
    with pytest.raises(warpplay.WarpplayError, match="call deal first"):
        practice.judge()
    for number in range(1, 21):
        hand = practice.deal(1)
        assert hand == practice.hand == again.deal(1) and hand["number"] == number
        while not practice.hand["is_over"]:
            judged = practice.judge()
            assert judged["actions"] == practice.hand["actions"] and sum(judged["strategy"]) == pytest.approx(1.0)
            # The best action loses nothing.
            best = judged["actions"][int(np.argmax(judged["ev"]))]
            assert practice.act(best)["loss"] == 0.0 and again.act(best)["action"] == best
        # Queens are never folded without a bet, so a showdown shows aces or sixes and fives.
        others = practice.hand["others_cards"]
        assert others is None or others[0] in "A6"
    score = practice.score()
    assert score["hands"] == 20 == len(practice.records()) and score["loss"] == 0.0 and practice.records() == again.records()
    with pytest.raises(ValueError, match="option action: 'r7'"):
        while practice.deal(1)["is_over"]:
            pass
        practice.act("r7")
    with pytest.raises(ValueError, match="option seat: 2"):
        practice.deal(2)
    with pytest.raises(ValueError, match="moves of poker: 'xyz'"):
        Practice(solved, "xyz")
