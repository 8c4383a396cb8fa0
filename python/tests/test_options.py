"""Options: dictionaries change the fields that they name, names stand for choices, and errors speak of Python."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from warpplay import azero, cfr, mcts, mlp, shogi

GAMES = Path(__file__).parents[2] / "tests" / "golden" / "shogi" / "first_100.usi.txt.gz"
IMAGES, LABELS = np.zeros((70, 2, 2), np.uint8), np.zeros(70, np.uint8)
NETWORK = mlp.Network([(np.zeros((4, 2), np.float32), np.zeros(2, np.float32))])


def trainer(**options):
    return mlp.Trainer(IMAGES, LABELS, device="cpu", **options)


def learner(**options):
    return shogi.Learner(GAMES, device="cpu", plies=(40, 42), **options)


def about(expected):
    return pytest.approx(expected, rel=1e-6)


def test_a_choice_has_the_fields_of_its_name():
    assert trainer(optimizer={"name": "momentum"}).options["optimizer"] == {"name": "momentum", "momentum": about(0.9)}
    adam = {"name": "adam", "beta1": 0.5, "beta2": about(0.999), "epsilon": about(1e-8)}
    assert trainer(optimizer={"name": "adam", "beta1": 0.5}).options["optimizer"] == adam
    assert trainer(optimizer={"beta1": 0.5, "name": "adam"}).options["optimizer"] == adam
    assert trainer(schedule={"name": "cosine"}).options["schedule"] == {"name": "cosine", "minimum": 0}
    assert trainer(schedule={"name": "step", "every": 1}).options["schedule"]["factor"] == about(0.1)


def test_a_dictionary_may_leave_fields_out():
    stopping = trainer(early_stopping={"patience": 3}, held_out=5).options["early_stopping"]
    assert stopping == {"patience": 3, "min_delta": 0}
    found = learner(quiet={"every": 1}, early_stopping={"patience": 2}).options
    assert found["quiet"]["every"] == 1 and found["quiet"]["depth"] > 0
    assert found["early_stopping"] == {"patience": 2, "min_delta": 0}
    noise = azero.SelfPlay(device="cpu", search={"noise": {"alpha": 0.3}}).options["search"]["noise"]
    assert noise == {"alpha": 0.3, "epsilon": 0.25}


def test_a_name_stands_for_a_choice_with_its_usual_fields():
    for name in ("sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop"):
        assert trainer(optimizer=name).options == trainer(optimizer={"name": name}).options
    assert trainer(schedule="cosine").options["schedule"] == {"name": "cosine", "minimum": 0}
    # What a report says is read again.
    options = trainer(optimizer="adamw", schedule="step").options
    assert trainer(**options).options == options


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda: trainer(optimizer="adm"), ValueError, "option optimizer: adm is not allowed (sgd, momentum, nesterov, adam, adam_w, adamw, rmsprop)"),
        (lambda: trainer(schedule="linear"), ValueError, "option schedule: linear is not allowed (constant, step, cosine)"),
        (lambda: trainer(optimizer=3), ValueError, "option optimizer: 3 is not allowed (a name, or a dictionary with a name)"),
        (lambda: trainer(optimizer={"name": "adam", "beta3": 1}), TypeError, "optimizer.beta3 is not an option; allowed are"),
        (lambda: trainer(optimizer={"name": "adam", "beta1": "x"}), ValueError, 'option optimizer.beta1: "x" is not allowed (a number)'),
        (lambda: trainer(early_stopping={}), ValueError, "option early_stopping: the field patience is missing"),
        (lambda: trainer(early_stopping={"patience": 3, "delta": 1}), TypeError, "early_stopping.delta is not an option; allowed are min_delta, patience"),
        (lambda: trainer(early_stopping=3), ValueError, "option early_stopping: 3 is not allowed (a dictionary)"),
        (lambda: trainer(batch="many"), ValueError, 'option batch: "many" is not allowed (a whole number, 0 to 4294967295)'),
        (lambda: trainer(batch={"n": 1}), ValueError, "option batch: a dictionary is not allowed (a whole number, 0 to 4294967295)"),
        (lambda: trainer(batch=-1), ValueError, "option batch: -1 is not allowed (a whole number, 0 to 4294967295)"),
        (lambda: trainer(batch=1.5), ValueError, "option batch: 1.5 is not allowed (a whole number, 0 to 4294967295)"),
        (lambda: trainer(seed=2**70), ValueError, f"option seed: {2**70} is not allowed (a whole number, -2**63 to 2**64 - 1)"),
        (lambda: cfr.Solver("kuhn", device="cpu", isomorphism=3), ValueError, "option isomorphism: 3 is not allowed (True or False)"),
        (lambda: cfr.Solver("kuhn", device="cpu", discounts=[1, 2]), ValueError, "option discounts: a list of 2 is not allowed (a list of 3 values)"),
        (lambda: cfr.Solver("kuhn", device="cpu", algorithm=3), ValueError, "option algorithm: 3 is not allowed (a name)"),
        (lambda: cfr.Solver("kuhn", device="cpu", measure_at=[-1]), ValueError, "option measure_at: -1 is not allowed"),
        (lambda: azero.Evaluator(seed=-1, device="cpu"), ValueError, "option seed: -1 is not allowed (a whole number, 0 to 2**64 - 1)"),
        (lambda: azero.SelfPlay(network_seed=-1, device="cpu"), ValueError, "option network_seed: -1 is not allowed"),
        (lambda: azero.SelfPlay(seed=2**64, device="cpu"), ValueError, f"option seed: {2**64} is not allowed"),
        (lambda: azero.SelfPlay(device="cpu", search={"simulations": "x"}), ValueError, 'option search.simulations: "x" is not allowed (a whole number'),
    ],
)
def test_what_is_not_allowed_is_told_in_words(make, kind, text):
    with pytest.raises(kind) as found:
        make()
    assert str(found.value).startswith(text), found.value


def test_a_dictionary_within_itself_is_refused():
    endless = {}
    endless["noise"] = endless
    with pytest.raises(ValueError, match="lists and dictionaries more than 8 deep"):
        azero.SelfPlay(device="cpu", search=endless)


def written(value):
    """A default as the docstrings have it: a choice by its name."""
    if isinstance(value, dict) and set(value) == {"name"}:
        value = value["name"]
    if isinstance(value, tuple):
        value = list(value)
    return f'"{value}"' if isinstance(value, str) else repr(value)


@pytest.mark.parametrize(
    "kind, make",
    [
        (mcts.Search, lambda: mcts.Search(device="cpu")),
        (azero.Evaluator, lambda: azero.Evaluator(device="cpu")),
        (azero.SelfPlay, lambda: azero.SelfPlay(device="cpu")),
        (mlp.Trainer, trainer),
        (shogi.Learner, learner),
        (cfr.Solver, lambda: cfr.Solver("kuhn", device="cpu")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_docstring_names_every_option_with_its_default(kind, make):
    text = " ".join(inspect.getdoc(kind).split())
    for name, value in make().options.items():
        if kind is azero.SelfPlay and name == "search":
            assert "`noise` at the root with `alpha=1.0` and `epsilon=0.25`" in text
            for field, default in value.items():
                assert field == "noise" or f"`{field}={written(default)}`" in text, field
        elif name == "init" and kind is shogi.Learner:
            assert list(value) == [3.0] * 12 and "`init`: first values of the pieces, a number for each of `PIECES[1:]`, all 3" in text
        else:
            assert f"`{name}={written(value)}`" in text, (name, value)


def test_the_options_of_a_training_on_games_are_in_its_docstring(tmp_path):
    play = azero.SelfPlay(device="cpu", seed=3, games=1, parallel=1, search={"simulations": 1})
    play.run()
    play.save_games(tmp_path / "games.jsonl")
    text = inspect.getdoc(azero.Trainer)
    for name, value in azero.Trainer(tmp_path / "games.jsonl", device="cpu", batch=2).options.items():
        # A single game has fewer positions than the batch usually has.
        value = 1024 if name == "batch" else value
        assert f"`{name}={written(value)}`" in text, (name, value)
    assert mlp.Classifier(NETWORK, device="cpu", threads=1).options["threads"] == 1
