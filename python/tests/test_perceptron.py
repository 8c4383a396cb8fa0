"""The perceptron as a classifier of scikit-learn's form: alone, and with scikit-learn itself."""

import pickle

import numpy as np
import pytest

from peers import peer
from warpplay.mlp import PerceptronClassifier

OPTIONS = dict(device="cpu", hidden=[16], epochs=20, batch=16, learning_rate=0.2, seed=1)


def bright(n, seed):
    """Samples of six bytes: one of the first three is bright, and its name is the class."""
    random = np.random.default_rng(seed)
    classes = random.integers(0, 3, n)
    samples = random.integers(0, 100, (n, 6)).astype(np.uint8)
    samples[np.arange(n), classes] += 150
    return samples, np.array(["left", "middle", "right"])[classes]


class Sparse:
    """What tells a sparse matrix of scipy from other objects."""

    nnz = 3

    def toarray(self):
        return np.zeros((20, 6))


def test_a_column_of_classes_is_taken_with_a_warning():
    samples, names = bright(40, 1)
    expected = PerceptronClassifier(**OPTIONS).fit(samples, names)
    with pytest.warns(UserWarning, match="y is a column"):
        model = PerceptronClassifier(**OPTIONS).fit(samples, names[:, None])
    assert (model.predict_proba(samples) == expected.predict_proba(samples)).all()
    with pytest.warns(UserWarning, match="y is a column"):
        assert model.score(samples, names[:, None]) == expected.score(samples, names)


def test_few_samples_are_one_batch():
    samples, names = bright(40, 1)
    model = PerceptronClassifier(device="cpu", epochs=2).fit(samples, names)
    assert model.report_["options"]["batch"] == 40 and model.get_params() == {"device": "cpu", "epochs": 2}
    model = PerceptronClassifier(device="cpu", epochs=2, held_out=10).fit(samples, names)
    assert model.report_["options"]["batch"] == 30
    model = PerceptronClassifier(device="cpu", epochs=np.int64(1), held_out=np.uint8(39)).fit(samples, names)
    assert model.report_["options"]["batch"] == 1


def test_it_is_fitted_and_predicts_names():
    samples, names = bright(300, 1)
    model = PerceptronClassifier(**OPTIONS)
    assert model.fit(samples, names) is model
    others, expected = bright(100, 2)
    assert list(model.classes_) == ["left", "middle", "right"] and model.n_features_in_ == 6
    assert model.score(others, expected) > 0.95
    probabilities = model.predict_proba(others)
    assert probabilities.shape == (100, 3) and np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(others)).all()
    # The shape of an image is no matter.
    assert (model.predict(others.reshape(100, 2, 3)) == model.predict(others)).all()
    assert model.report_["epochs"][-1]["loss"] < model.report_["epochs"][0]["loss"]


def test_numbers_are_brought_to_bytes_by_what_fit_has_seen():
    samples, names = bright(300, 1)
    # The same information in other units, with a feature that never changes.
    moved = np.column_stack([samples / 7.0 - 100, np.full(len(samples), 3.5)])
    model = PerceptronClassifier(**OPTIONS).fit(moved, names)
    others, expected = bright(100, 2)
    others = np.column_stack([others / 7.0 - 100, np.full(100, 3.5)])
    assert model.score(others, expected) > 0.95
    # Beyond the largest is as the largest: the brightest of the first feature is still "left".
    beyond = others.copy()
    beyond[:, 0] = 1e30
    beyond[:, 1:3] = moved[:, 1:3].min(axis=0)
    assert (model.predict(beyond) == "left").all()


def test_it_is_kept_by_pickle():
    samples, names = bright(100, 1)
    for more in ({}, {"activation": "tanh", "batch_norm": True}):
        model = PerceptronClassifier(**{**OPTIONS, **more}).fit(samples, names)
        kept = pickle.loads(pickle.dumps(model))
        assert (kept.predict_proba(samples) == model.predict_proba(samples)).all() and repr(kept) == repr(model)
    assert not hasattr(pickle.loads(pickle.dumps(PerceptronClassifier(**OPTIONS))), "network_")


def test_parameters_are_those_given():
    model = PerceptronClassifier(device="cpu", hidden=[3])
    assert model.get_params() == {"device": "cpu", "hidden": [3]}
    assert model.set_params(epochs=2, hidden=[4]) is model
    assert repr(model) == "PerceptronClassifier(device='cpu', hidden=[4], epochs=2)"


def test_what_is_not_allowed_is_told():
    samples, names = bright(20, 1)
    with pytest.raises(ValueError, match="not fitted yet"):
        PerceptronClassifier().predict(samples)
    with pytest.raises(TypeError, match="depth is not an option"):
        PerceptronClassifier(device="cpu", depth=3).fit(samples, names)
    for held_out in (20, 21, -1, None, 0.5, "x"):
        text = f"option held_out: {held_out!r} is not allowed .a whole number, 0 to 19, since X has 20 samples"
        for options in ({}, {"batch": 4}):
            with pytest.raises(ValueError, match=text):
                PerceptronClassifier(device="cpu", held_out=held_out, **options).fit(samples, names)
    with pytest.raises(ValueError, match="20 samples and y 19"):
        PerceptronClassifier(device="cpu").fit(samples, names[1:])
    with pytest.raises(ValueError, match="y has the shape .10, 2., expected .n."):
        PerceptronClassifier(device="cpu").fit(samples, names.reshape(10, 2))
    with pytest.raises(ValueError, match="X has complex values, real ones are expected"):
        PerceptronClassifier(device="cpu").fit(samples + 1j, names)
    with pytest.raises(ValueError, match="y has complex values, real ones are expected"):
        PerceptronClassifier(device="cpu").fit(samples, np.full(20, 1j))
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="y has values that are NaN or infinite"):
            PerceptronClassifier(device="cpu").fit(samples, np.where(names == "left", value, 1.0))
    with pytest.raises(TypeError, match="X is a sparse Sparse, an array with all values is expected: X.toarray"):
        PerceptronClassifier(device="cpu").fit(Sparse(), names)
    with pytest.raises(ValueError, match="X has the shape .20., expected"):
        PerceptronClassifier(device="cpu").fit(samples[:, 0], names)
    with pytest.raises(ValueError, match="NaN or infinite"):
        PerceptronClassifier(device="cpu").fit(np.where(samples > 200, np.nan, samples), names)
    with pytest.raises(ValueError, match="257 classes, at most 256"):
        PerceptronClassifier(device="cpu").fit(np.zeros((257, 2), np.uint8), np.arange(257))
    model = PerceptronClassifier(**OPTIONS).fit(samples, names)
    with pytest.raises(ValueError, match="X has 5 features, this PerceptronClassifier was fitted to 6"):
        model.predict(samples[:, 1:])
    with pytest.raises(ValueError, match="values beyond 0 to 255"):
        model.predict(samples.astype(np.int64) + 256)
    assert (model.predict(samples.astype(np.float64)) == model.predict(samples)).all()


def test_scikit_learn_takes_it_for_a_classifier():
    base, selection = peer("sklearn.base"), peer("sklearn.model_selection")
    pipeline, preprocessing = peer("sklearn.pipeline"), peer("sklearn.preprocessing")
    samples, names = bright(300, 1)
    model = PerceptronClassifier(**OPTIONS)
    assert base.is_classifier(model)
    copied = base.clone(model.fit(samples, names))
    assert copied.get_params() == model.get_params() and not hasattr(copied, "network_")
    assert selection.cross_val_score(model, samples, names, cv=3).min() > 0.9
    search = selection.GridSearchCV(model, {"epochs": [1, 20]}, cv=2).fit(samples, names)
    assert search.best_params_ == {"epochs": 20}
    steps = pipeline.make_pipeline(preprocessing.StandardScaler(), base.clone(model))
    assert steps.fit(samples, names).score(samples, names) > 0.95


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learns_perceptron_knows_as_many_digits():
    """The digits of scikit-learn, 1797 images of 8 x 8: the same network by both programs."""
    digits, network, selection = peer("sklearn.datasets"), peer("sklearn.neural_network"), peer("sklearn.model_selection")
    samples, classes = digits.load_digits(return_X_y=True)
    parts = selection.train_test_split(samples / 16, classes, test_size=0.5, random_state=1, stratify=classes)
    train, test, train_classes, test_classes = parts
    both = dict(hidden_layer_sizes=(64,), solver="sgd", momentum=0.0, batch_size=16, learning_rate_init=0.1, max_iter=30, alpha=0.0)
    theirs = network.MLPClassifier(random_state=1, n_iter_no_change=30, **both).fit(train, train_classes)
    ours = PerceptronClassifier(device="cpu", hidden=[64], batch=16, learning_rate=0.1, epochs=30, seed=1)
    scores = theirs.score(test, test_classes), ours.fit(train, train_classes).score(test, test_classes)
    # Of n test images a share p is found with a standard error of √(p (1 - p) / n) by each of the two: five of the difference's.
    p, n = sum(scores) / 2, len(test_classes)
    assert abs(scores[0] - scores[1]) < 5 * (2 * p * (1 - p) / n) ** 0.5, scores
