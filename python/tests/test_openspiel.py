"""OpenSpiel on the same games: the value of our strategies by its arithmetic, and its rules of checkers."""

import random
from pathlib import Path

import pytest

from peers import peer
from warpplay.cfr import Solver
from warpplay.mcts import Search

GAMES = Path(__file__).parents[2] / "tests" / "golden" / "cfr" / "games"


def kuhn(state):
    """Betting, board and hand of a state of `kuhn_poker`: three cards, of which `4` is the highest; what is a pass to OpenSpiel is a call or a fold here."""
    deals, moves = state.history()[:2], state.history()[2:]
    betting = ""
    for at, move in enumerate(moves):
        betting += "r" if move == 1 else ("f" if 1 in moves[:at] else "c")
    names = ["f" if 1 in moves else "c", "c" if 1 in moves else "r"]
    return betting, "", "234"[deals[state.current_player()]] + "c", dict(enumerate(names))


def leduc(state):
    """The same of `leduc_poker`: cards 0 to 5 are two suits of three ranks; the third card that is dealt lies on the board."""
    deals, betting, board = [], "", ""
    before = state.get_game().new_initial_state()
    for move in state.history():
        if before.is_chance_node():
            deals.append("234"[move // 2] + "cd"[move % 2])
            if len(deals) == 3:
                board, betting = deals[2], betting + "/"
        else:
            betting += "fcr"[move]
        before.apply_action(move)
    return betting, board, deals[state.current_player()], {0: "f", 1: "c", 2: "r"}


def policy_of(game, strategy, found):
    """A strategy of ours as a table of OpenSpiel's."""
    policy = peer("open_spiel.python.policy").TabularPolicy(game)
    for state, row in zip(policy.states, policy.action_probability_array):
        history, board, hand, names = found(state)
        choices = strategy.query(history, board=board, hand=hand)
        row[:] = 0
        assert set(choices) == {names[action] for action in state.legal_actions()}
        for action in state.legal_actions():
            row[action] = choices[names[action]]
    return policy


@pytest.mark.parametrize("name, file, found", [("kuhn_poker", "kuhn.limit.2p.game", kuhn), ("leduc_poker", "leduc.limit.2p.game", leduc)])
@pytest.mark.parametrize("algorithm", ["cfr", "cfr_plus"])
def test_a_strategy_is_worth_what_openspiel_says(name, file, found, algorithm):
    spiel, measure = peer("pyspiel"), peer("open_spiel.python.algorithms.exploitability")
    expected_score = peer("open_spiel.python.algorithms.expected_game_score")
    game = spiel.load_game(name)
    solver = Solver((GAMES / file).read_text(), device="cpu", precision="f64", algorithm=algorithm, iterations=100)
    solver.run()
    ours = solver.exploitability()
    policy = policy_of(game, solver.strategy(), found)
    # Thousands of sums and products of double precision, of numbers up to 13; probabilities of a strategy are kept in single precision: 6e-8 of each, a dozen of them on a path.
    near = pytest.approx
    assert measure.nash_conv(game, policy) == near(ours["nash_conv"], abs=1e-4)
    values = expected_score.policy_value(game.new_initial_state(), [policy] * 2)
    assert list(values) == near(ours["value"], abs=1e-4)


def test_kuhn_after_as_many_iterations_is_as_openspiel_has_it():
    """OpenSpiel's CFR, which also updates the players by turns: after 100 iterations the same average strategy, which is far from an equilibrium."""
    spiel, cfr = peer("pyspiel"), peer("open_spiel.python.algorithms.cfr")
    game = spiel.load_game("kuhn_poker")
    theirs = cfr.CFRSolver(game)
    for _ in range(100):
        theirs.evaluate_and_update_policy()
    solver = Solver((GAMES / "kuhn.limit.2p.game").read_text(), device="cpu", precision="f64", algorithm="cfr", iterations=100)
    solver.run()
    ours, average = policy_of(game, solver.strategy(), kuhn), theirs.average_policy()
    for state, row in zip(ours.states, ours.action_probability_array):
        expected = average.action_probabilities(state)
        assert {action: row[action] for action in expected} == pytest.approx(expected, abs=1e-6), state


def test_checkers_has_openspiels_moves():
    """Twenty games at random, capped at 60 moves: after each the same names of legal actions, captures forced and repeated as there."""
    game = peer("pyspiel").load_game("checkers")
    search = Search("checkers", device="cpu", n_trees=1, n_playouts=1, steps=1, seed=1)
    random.seed(1)
    jumps = compared = 0
    for _ in range(20):
        state, moves = game.new_initial_state(), ""
        while not state.is_terminal() and compared % 60 != 59:
            names = {state.action_to_string(state.current_player(), action): action for action in state.legal_actions()}
            found = {action["name"] for action in search.run(moves)["actions"]}
            assert found == set(names), moves
            name = random.choice(sorted(names))
            jumps += abs(ord(name[0]) - ord(name[2])) == 2
            moves += name
            state.apply_action(names[name])
            compared += 1
        compared += 1
    assert compared > 400 and jumps > 50
