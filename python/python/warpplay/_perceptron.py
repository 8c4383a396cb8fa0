"""A perceptron with the methods that scikit-learn expects of a classifier. scikit-learn itself is not needed."""

import operator
import warnings

import numpy as np

from ._native import mlp as _native


class PerceptronClassifier:
    """A perceptron that is trained by ``fit``, for ``cross_val_score``, ``GridSearchCV``, pipelines and ``clone`` of scikit-learn, or alone.

    Options are those of :class:`Trainer` (``hidden``, ``epochs``, ``batch``, ``learning_rate``, ``optimizer``, ``seed``, …); what is not given has the default written there (a
    ``batch`` of 64, or all samples where there are fewer), and ``get_params`` has what was given. What is not allowed is told by ``fit``.

    The kernels take bytes. ``X`` of uint8 is taken as it is, 0 to 255. Other numbers are brought to 0 to 255 feature by feature, by the least and the largest value that
    ``fit`` has seen, and rounded: 256 levels a feature. What lies beyond in ``predict`` counts as the nearest of the two.

    After ``fit``: ``classes_`` ``[n_classes]``, ``n_features_in_``, ``network_`` (a :class:`Network`) and ``report_`` (a dictionary).

    >>> images = np.array([[0, 255], [255, 0]] * 20, np.uint8)
    >>> names = np.array(["right", "left"] * 20)
    >>> model = PerceptronClassifier(device="cpu", hidden=[4], epochs=20, batch=8, learning_rate=0.5).fit(images, names)
    >>> [str(name) for name in model.predict([[0, 200], [200, 0]])]
    ['right', 'left']
    """

    # Of scikit-learn before 1.6; later versions ask `__sklearn_tags__`.
    _estimator_type = "classifier"

    def __init__(self, *, device="auto", **options):
        self._params = {"device": device, **options}

    def get_params(self, deep=True):
        """The options that were given, and the device."""
        return dict(self._params)

    def set_params(self, **params):
        """Sets options; returns the object."""
        self._params.update(params)
        return self

    def fit(self, X, y):
        """Trains on samples ``X`` ``[n, features]`` or ``[n, rows, columns]`` with classes ``y`` ``[n]``, numbers or names, at most 256 of them; returns the object."""
        X, y = _array("X", X), _classes(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) > 256:
            raise ValueError(f"y has {len(self.classes_)} classes, at most 256 are allowed")
        flat = _samples(X)
        if len(flat) != len(y):
            raise ValueError(f"X has {len(flat)} samples and y {len(y)}: a class for each is expected")
        self.n_features_in_ = flat.shape[1]
        self._range = None if flat.dtype == np.uint8 else (flat.min(axis=0), flat.max(axis=0))
        options = {"batch": min(64, len(flat) - self._held_out(len(flat))), **self._params}
        trainer = _native.Trainer(self._bytes(flat), labels.astype(np.uint8), device=options.pop("device"), **options)
        self.report_ = trainer.run()
        self.network_ = trainer.network()
        self._classifier = None
        return self

    def predict_proba(self, X):
        """Probabilities ``[n, n_classes]`` float32, in the order of ``classes_``."""
        classifier = self._ready()
        return classifier.predict_proba(self._bytes(self._checked(X)))

    def predict(self, X):
        """The likeliest class of each sample, ``[n]``, of the type of ``y``."""
        classifier = self._ready()
        return self.classes_[classifier.predict(self._bytes(self._checked(X)))]

    def score(self, X, y):
        """The share of samples whose class is predicted."""
        y = _classes(y)
        found = self.predict(X)
        if len(found) != len(y):
            raise ValueError(f"X has {len(found)} samples and y {len(y)}: a class for each is expected")
        return float(np.mean(found == y))

    def _held_out(self, n_samples):
        """How many samples are held out, so that at least one is left."""
        given = self._params.get("held_out", 0)
        try:
            held_out = operator.index(given)
        except TypeError:
            held_out = -1
        if not 0 <= held_out < n_samples:
            raise ValueError(f"option held_out: {given!r} is not allowed (a whole number, 0 to {n_samples - 1}, since X has {n_samples} samples)")
        return held_out

    def _ready(self):
        """The network on the device, from the first time on that it is asked."""
        if not hasattr(self, "network_"):
            raise ValueError("this PerceptronClassifier is not fitted yet: call fit first")
        if self._classifier is None:
            options = {name: self._params[name] for name in ("precision", "engine", "threads") if name in self._params}
            self._classifier = _native.Classifier(self.network_, device=self._params["device"], **options)
        return self._classifier

    def _checked(self, X):
        flat = _samples(_array("X", X))
        if flat.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {flat.shape[1]} features, this PerceptronClassifier was fitted to {self.n_features_in_}")
        return flat

    def _bytes(self, flat):
        """Images of one row each."""
        if self._range is not None:
            least, largest = self._range
            span = np.where(largest > least, largest - least, 1.0)
            flat = np.rint(np.clip((flat - least) / span, 0, 1) * 255)
        elif flat.dtype != np.uint8 and ((flat < 0) | (flat > 255)).any():
            raise ValueError("X has values beyond 0 to 255, this PerceptronClassifier was fitted to bytes")
        return flat.astype(np.uint8).reshape(len(flat), 1, -1)

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=True, three_d_array=True),
        )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "network_")

    def __getstate__(self):
        # What is on a device is made again.
        return {name: value for name, value in self.__dict__.items() if name != "_classifier"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if "network_" in state:
            self._classifier = None

    def __repr__(self):
        return f"PerceptronClassifier({', '.join(f'{name}={value!r}' for name, value in self._params.items())})"


def _array(name, values):
    """An array of what was given."""
    # As scipy's sparse matrices and arrays: numpy makes one object of them.
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise TypeError(f"{name} is a sparse {type(values).__name__}, an array with all values is expected: {name}.toarray() is one")
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"{name} has complex values, real ones are expected")
    return array


def _classes(y):
    """The classes ``[n]``; a column is taken as scikit-learn takes it, with a warning."""
    y = _array("y", y)
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn("y is a column [n, 1] where [n] is expected: y.ravel() is such", stacklevel=3)
        y = y[:, 0]
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(f"y has the shape {list(y.shape)}, expected [n], at least one")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y has values that are NaN or infinite, which are no classes")
    return y


def _samples(X):
    """The samples as rows: bytes, or finite numbers of double precision."""
    if X.ndim not in (2, 3) or 0 in X.shape:
        raise ValueError(f"X has the shape {list(X.shape)}, expected [n, features] or [n, rows, columns], none of them 0")
    flat = X.reshape(len(X), -1)
    if flat.dtype == np.uint8:
        return flat
    flat = flat.astype(np.float64)
    if not np.isfinite(flat).all():
        raise ValueError("X has values that are NaN or infinite, finite ones are expected")
    return flat
