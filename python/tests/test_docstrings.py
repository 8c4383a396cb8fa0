"""What the docstrings say: every public name has one, arrays have shapes, and examples run."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import warpplay


def modules():
    """The package and its modules, private ones too."""
    yield warpplay
    for found in pkgutil.iter_modules(warpplay.__path__):
        if found.name != "_native":
            yield importlib.import_module(f"warpplay.{found.name}")


def public_names():
    """Every public module, class, function, method and property, by its whole name."""
    for module in modules():
        if module.__name__.split(".")[-1].startswith("_"):
            continue
        yield module.__name__, module
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or callable(value):
                yield f"{module.__name__}.{name}", value
            if inspect.isclass(value):
                for member in vars(value):
                    if not member.startswith("_"):
                        yield f"{module.__name__}.{name}.{member}", getattr(value, member)


NAMES = dict(public_names())


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_a_docstring(name):
    text = inspect.getdoc(NAMES[name])
    assert text and len(text.split()) >= 3 and text[0].isupper() and "." in text, repr(text)


# What takes or gives arrays, with the shapes that its docstring, or that of its class, must name.
SHAPES = {
    "warpplay.Array.numpy": ["shape"],
    "warpplay.azero.Evaluator.evaluate": ["[n, planes, rows, columns]", "[n, actions]", "[n]"],
    "warpplay.azero.Evaluator.observe": ["[1, planes, rows, columns]", "[1, actions]"],
    "warpplay.azero.SelfPlay.games": ["[plies]", "[2]"],
    "warpplay.azero.observe": ["[1, 5, 8, 8]", "[1, 512]"],
    "warpplay.cfr.Solver.run": ["[players]"],
    "warpplay.cfr.solve_spot": ["[2]"],
    "warpplay.cfr.Solver.exploitability": ["[players]"],
    "warpplay.cfr.Strategy.query_all": ["[n_hands]", "[n_actions]", "[n_hands, n_actions]"],
    "warpplay.mlp.Classifier.logits": ["[n, rows, columns]", "[n, classes]"],
    "warpplay.mlp.Classifier.predict": ["[n, rows, columns]", "[n]"],
    "warpplay.mlp.Classifier.predict_proba": ["[n, rows, columns]", "[n, classes]"],
    "warpplay.mlp.ConvClassifier.logits": ["[n, rows, columns]", "[n, classes]"],
    "warpplay.mlp.ConvClassifier.predict": ["[n, rows, columns]", "[n]"],
    "warpplay.mlp.ConvClassifier.predict_proba": ["[n, rows, columns]", "[n, classes]"],
    "warpplay.mlp.ConvNetwork": ["[3, 3, in, out]", "[in, classes]", "[out]"],
    "warpplay.mlp.ConvNetwork.layers": ["[3, 3, in, out]", "[in, classes]", "[out]"],
    "warpplay.mlp.ConvTrainer": ["[n, rows, columns]", "[m, rows, columns]", "[n]", "[m]"],
    "warpplay.mlp.Network": ["[in, out]", "[out]"],
    "warpplay.mlp.Network.layers": ["[in, out]", "[out]"],
    "warpplay.mlp.PerceptronClassifier.fit": ["[n, features]", "[n, rows, columns]", "[n]"],
    "warpplay.mlp.PerceptronClassifier.predict": ["[n]"],
    "warpplay.mlp.PerceptronClassifier.predict_proba": ["[n, n_classes]"],
    "warpplay.mlp.Trainer": ["[n, rows, columns]", "[m, rows, columns]", "[n]", "[m]"],
    "warpplay.shogi.Evaluator": ["[n_weights]"],
    "warpplay.shogi.Evaluator.weights": ["[n_weights]"],
}


@pytest.mark.parametrize("name", SHAPES)
def test_arrays_have_their_shapes_in_the_docstring(name):
    text = inspect.getdoc(NAMES[name])
    for shape in SHAPES[name]:
        assert shape in text, (shape, text)


@pytest.mark.parametrize("module", list(modules()), ids=lambda module: module.__name__)
def test_the_examples_of_a_module_run(module):
    assert doctest.testmod(module).failed == 0
