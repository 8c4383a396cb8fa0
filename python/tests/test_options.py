"""Options: dictionaries change the fields that they name, names stand for choices, and errors speak of Python."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import stubs
from warpplay import azero, cfr, mcts, mlp, shogi

GAMES = Path(__file__).parents[2] / "tests" / "golden" / "shogi" / "first_100.usi.txt.gz"
IMAGES, LABELS = np.zeros((70, 2, 2), np.uint8), np.zeros(70, np.uint8)
NETWORK = mlp.Network([(np.zeros((4, 2), np.float32), np.zeros(2, np.float32))])


def trainer(**options):
    return mlp.Trainer(IMAGES, LABELS, device="cpu", **options)


def conv_trainer(**options):
    return mlp.ConvTrainer(np.zeros((3, 4, 4), np.uint8), np.zeros(3, np.uint8), device="cpu", **options)


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
        (lambda: azero.SelfPlay(device="cpu", search=[]), ValueError, "option search: a list is not allowed (a dictionary)"),
        (lambda: trainer(optimizer=["adam"]), ValueError, "option optimizer: a list is not allowed (a name, or a dictionary with a name)"),
        (lambda: trainer(early_stopping=[3]), ValueError, "option early_stopping: a list is not allowed (a dictionary)"),
        (lambda: trainer(hidden=["x"]), ValueError, 'option hidden: "x" is not allowed (a whole number, 0 to 4294967295)'),
        (lambda: azero.SelfPlay(device="cpu", search={"simulations": "x"}), ValueError, 'option search.simulations: "x" is not allowed (a whole number'),
    ],
)
def test_what_is_not_allowed_is_told_in_words(make, kind, text):
    with pytest.raises(kind) as found:
        make()
    assert str(found.value).startswith(text), found.value


def test_numbers_of_numpy_are_options():
    found = learner(keep_scale=np.True_, iterations=np.int64(3), l2=np.float32(0.5), init=[np.float64(2)] * 12, quiet={"every": np.uint8(1)}).options
    assert found["keep_scale"] is True and found["iterations"] == 3 and found["l2"] == 0.5
    assert list(found["init"]) == [2.0] * 12 and found["quiet"]["every"] == 1
    assert cfr.Solver("kuhn", device="cpu", isomorphism=np.False_).options["isomorphism"] is False
    assert trainer(hidden=(np.int32(3), np.uint16(4)), learning_rate=np.float16(0.5)).options["hidden"] == [3, 4]
    with pytest.raises(ValueError, match="option batch: True is not allowed .a whole number"):
        trainer(batch=np.True_)
    with pytest.raises(ValueError, match="option keep_scale: 1 is not allowed .True or False"):
        learner(keep_scale=np.int64(1))
    with pytest.raises(TypeError, match=r"option hidden\[1\]: a set is not a value of an option"):
        trainer(hidden=[3, {4}])


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
    if isinstance(value, float) and value == np.float32(value):
        # A number of single precision.
        value = float(str(np.float32(value)))
    return f'"{value}"' if isinstance(value, str) else repr(value)


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    """The file of a short game of `azero`."""
    path = tmp_path_factory.mktemp("games") / "games.jsonl"
    play = azero.SelfPlay(device="cpu", seed=3, games=1, parallel=1, search={"simulations": 1})
    play.run()
    play.save_games(path)
    return path


@pytest.mark.parametrize(
    "kind, make",
    [
        (mcts.Search, lambda: mcts.Search(device="cpu")),
        (azero.Evaluator, lambda: azero.Evaluator(device="cpu")),
        (azero.SelfPlay, lambda: azero.SelfPlay(device="cpu")),
        (mlp.Trainer, trainer),
        (mlp.ConvTrainer, conv_trainer),
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


def test_the_options_of_a_training_on_games_are_in_its_docstring(games):
    text = inspect.getdoc(azero.Trainer)
    for name, value in azero.Trainer(games, device="cpu", batch=2).options.items():
        # A single game has fewer positions than the batch usually has.
        value = 1024 if name == "batch" else value
        assert f"`{name}={written(value)}`" in text, (name, value)
    assert mlp.Classifier(NETWORK, device="cpu", threads=1).options["threads"] == 1


STUBS = stubs.Options()

# The dictionary of the stubs, the class whose docstring has the options, and an object with options laid over the defaults.
TYPED = {
    "MctsOptions": (mcts.Search, lambda games, /, **options: mcts.Search(device="cpu", **options)),
    "AzeroEvaluatorOptions": (azero.Evaluator, lambda games, /, **options: azero.Evaluator(device="cpu", **options)),
    "AzeroSelfPlayOptions": (azero.SelfPlay, lambda games, /, **options: azero.SelfPlay(device="cpu", **options)),
    "AzeroTrainerOptions": (azero.Trainer, lambda games, /, **options: azero.Trainer(games, device="cpu", **{"batch": 2, **options})),
    "ConvOptions": (mlp.ConvTrainer, lambda games, /, **options: conv_trainer(**options)),
    "MlpOptions": (mlp.Trainer, lambda games, /, **options: trainer(**options)),
    "ShogiOptions": (shogi.Learner, lambda games, /, **options: learner(**options)),
    "CfrOptions": (cfr.Solver, lambda games, /, **options: cfr.Solver("kuhn", device="cpu", **options)),
}


def test_every_call_with_options_has_their_types_in_the_stubs():
    found = {name: stubs.unpacked(name, function) for module in stubs.FILES for name, function in stubs.functions(module) if function.args.kwarg}
    assert found == {
        "mcts.Search": "MctsOptions",
        "azero.Evaluator": "AzeroEvaluatorOptions",
        "azero.SelfPlay": "AzeroSelfPlayOptions",
        "azero.Trainer": "AzeroTrainerOptions",
        "mlp.Trainer": "MlpOptions",
        "mlp.Classifier": "MlpOptions",
        "mlp.ConvTrainer": "ConvOptions",
        "mlp.ConvClassifier": "ConvOptions",
        "_perceptron.PerceptronClassifier": "MlpOptions",
        "_perceptron.PerceptronClassifier.set_params": "PerceptronParameters",
        "shogi.Learner": "ShogiOptions",
        "cfr.Solver": "CfrOptions",
        "cfr.Strategy.resolve": "CfrOptions",
        "cfr.SpotSolver": "CfrOptions",
        "cfr.solve_boards": "CfrOptions",
        "cfr.solve_spot": "CfrOptions",
    }
    assert set(STUBS.fields("PerceptronParameters")) == {"device", *STUBS.fields("MlpOptions")}


# A value of each kind of the stubs, as the errors write it.
KINDS = {"None": (None, "None"), "Truth": (True, "True"), "Integer": (3, "3"), "Number": (1.5, "1.5"), "Sequence": ([], "a list( of 0)?")}

# The end of an error for a value that is not of an option's kind.
NOT_OF_THE_KIND = r"is not allowed \((a whole number, 0 to .*|a number|True or False|a name|a list|a list of \d+ values|a dictionary|a name, or a dictionary with a name)\)"


def error_of(make, games, name, value):
    """What is said of a value of an option; nothing where it is allowed."""
    try:
        make(games, **{name: value})
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("typed", TYPED)
def test_the_stubs_have_every_option_with_its_type(typed, games):
    _, make = TYPED[typed]
    fields = STUBS.fields(typed)
    assert set(fields) == set(make(games).options) and not STUBS.required(typed)
    for name, annotation in fields.items():
        kinds = STUBS.kinds(annotation)
        # A whole number is a number.
        kinds |= {"Integer"} if "Number" in kinds else set()
        for kind, (value, written) in KINDS.items():
            if kind == "Sequence" and kind in kinds:
                # An empty list may be refused for its length.
                continue
            text = error_of(make, games, name, value)
            is_refused = re.fullmatch(rf"option {name}: {written} {NOT_OF_THE_KIND}", text) is not None
            assert is_refused != (kind in kinds), (name, value, kinds, text)


def entry(kind, name):
    """What stands between backticks in a docstring, from an option to the next."""
    text = inspect.getdoc(kind)
    found = re.search(rf"`{name}=.*?(?=`\w+=|\Z)", text, re.S)
    return set(re.findall(r"`([a-z]\w*)`", found[0]))


@pytest.mark.parametrize("typed", TYPED)
def test_choices_in_the_stubs_are_those_of_the_docstring_and_allowed(typed, games):
    kind, make = TYPED[typed]
    dictionaries = [(None, typed)] + [("search", "AzeroSearchOptions")] * (typed == "AzeroSelfPlayOptions")
    for outer, dictionary in dictionaries:
        for name, annotation in STUBS.fields(dictionary).items():
            choices = STUBS.choices(annotation)
            if not choices:
                continue
            fields = set().union(*(STUBS.fields(inner) for inner in STUBS.dictionaries(annotation)))
            assert choices <= entry(kind, name) <= choices | fields, (name, choices, entry(kind, name))
            text = error_of(make, games, outer or name, {name: "?"} if outer else "?")
            allowed = re.fullmatch(r"option [\w.]+: \? is not allowed \((.*)\)", text)
            assert allowed and choices <= set(allowed[1].split(", ")), (name, text)


def test_the_stubs_have_the_fields_of_nested_options():
    def expect(dictionary, options, required):
        assert (set(STUBS.fields(dictionary)), STUBS.required(dictionary)) == (set(options), required), dictionary

    for option in ("optimizer", "schedule"):
        annotation = STUBS.fields("MlpOptions")[option]
        named = {}
        for dictionary in STUBS.dictionaries(annotation):
            for name in STUBS.choices(STUBS.fields(dictionary)["name"]):
                named[name] = dictionary
        assert set(named) == STUBS.choices(annotation)
        for name, dictionary in named.items():
            expect(dictionary, trainer(**{option: name}).options[option], {"name"})
    search = azero.SelfPlay(device="cpu").options["search"]
    expect("AzeroSearchOptions", search, set())
    expect("Noise", search["noise"], set())
    expect("EarlyStopping", trainer(held_out=5, early_stopping={"patience": 1}).options["early_stopping"], {"patience"})
    found = learner(quiet={"every": 1}, early_stopping={"patience": 1}).options
    expect("EarlyStopping", found["early_stopping"], {"patience"})
    expect("Quiet", found["quiet"], {"every"})


def test_other_choices_in_the_stubs_are_allowed():
    def choices(alias):
        return ", ".join(choice.value for choice in STUBS.aliases[alias].slice.elts)

    for alias, make in (("Game", lambda: mcts.Search("?")), ("Layout", lambda: azero.observe(layout="?")), ("Features", lambda: shogi.Evaluator("?", np.ones(13, np.float32)))):
        with pytest.raises(ValueError) as found:
            make()
        assert str(found.value).endswith(f"? is not allowed ({choices(alias)})"), found.value
