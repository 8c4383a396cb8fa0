"""Perceptrons as ONNX files: run by ONNX's own runtime, against the classifier and double precision."""

import numpy as np
import pytest

from peers import peer
from warpplay.mlp import Classifier, Network

SIZES = [[6, 3], [6, 5, 4], [784, 256, 10], [30, 64, 17, 33, 7]]


def network_of(sizes, seed):
    random = np.random.default_rng(seed)
    pairs = zip(sizes, sizes[1:])
    layers = [(random.normal(size=(n, m)) / np.sqrt(n), random.normal(size=m)) for n, m in pairs]
    return Network([(weights.astype(np.float32), bias.astype(np.float32)) for weights, bias in layers])


def in_double(network, images):
    """Logits in double precision, and a bound of what single precision may make of each, however it adds: of n terms of a sum, rounded products and quotients included, each
    has a relative error of at most (n + 2) u (1 + small), Higham 2002, section 3.1."""
    u = 2.0**-24
    x, error = images.reshape(len(images), -1) / 255.0, 0.0
    # The quotient is rounded.
    error = u * x
    for at, (weights, bias) in enumerate(network.layers):
        weights, bias = weights.astype(np.float64), bias.astype(np.float64)
        gamma = 1.01 * (len(weights) + 2) * u
        error = error @ np.abs(weights) + gamma * ((np.abs(x) + error) @ np.abs(weights) + np.abs(bias))
        x = x @ weights + bias
        if at + 1 < len(network.layers):
            # Which is not steeper than 1.
            x = np.maximum(x, 0)
    return x, error


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("as_images", [False, True])
def test_the_runtime_gives_the_same_classes(tmp_path, sizes, as_images):
    onnx, runtime = peer("onnx"), peer("onnxruntime")
    network = network_of(sizes, 5)
    rows = max(n for n in range(1, sizes[0] + 1) if sizes[0] % n == 0 and n * n <= sizes[0])
    shape = (rows, sizes[0] // rows)
    path = tmp_path / "net.onnx"
    network.save_onnx(path, image_size=shape if as_images else None, softmax=as_images)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    classifier = Classifier(network, device="cpu")
    # The number of images is free.
    for n in [1, 33]:
        images = np.random.default_rng(n).integers(0, 256, (n, *shape)).astype(np.uint8)
        found = session.run(None, {"images": images if as_images else images.reshape(n, -1)})
        assert len(found) == (2 if as_images else 1)
        expected, bound = in_double(network, images)
        assert found[0].dtype == np.float32 and found[0].shape == expected.shape
        assert (np.abs(found[0] - expected) <= bound).all()
        ours = classifier.logits(images)
        assert (np.abs(ours - expected) <= bound).all()
        # The same class, where the bound leaves no doubt which is the largest.
        best = np.sort(expected - bound, axis=1)[:, -1]
        sure = ((expected + bound) >= best[:, None]).sum(axis=1) == 1
        assert sure.sum() > 0.9 * n
        assert (found[0].argmax(axis=1) == classifier.predict(images))[sure].all()
        if as_images:
            # Logits that differ by 2 bounds change a probability p by at most 2 p (1 - p) of that; then each power, sum and quotient is rounded.
            roundings = (sizes[-1] + 10 + 2 * np.abs(expected).max()) * 2.0**-24
            assert np.abs(found[1] - classifier.predict_proba(images)).max() <= bound.max() + 2 * roundings


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "gelu"])
def test_the_runtime_has_each_activation(tmp_path, activation):
    onnx, runtime = peer("onnx"), peer("onnxruntime")
    layers = network_of([30, 64, 17, 7], 5).layers
    network = Network(layers, activation=activation)
    path = tmp_path / "net.onnx"
    network.save_onnx(path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    images = np.random.default_rng(1).integers(0, 256, (33, 5, 6)).astype(np.uint8)
    found = runtime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"images": images.reshape(33, -1)})[0]
    # Numbers up to some 10, in sums of up to 64 terms, each with a few roundings of single precision.
    assert np.abs(found - Classifier(network, device="cpu").logits(images)).max() < 10 * 64 * 8 * 2.0**-24


def test_the_runtime_has_layer_norms(tmp_path):
    onnx, runtime = peer("onnx"), peer("onnxruntime")
    random = np.random.default_rng(6)
    norms = [(random.normal(1, 0.2, n).astype(np.float32), random.normal(0, 0.2, n).astype(np.float32)) for n in (64, 17)]
    network = Network(network_of([30, 64, 17, 7], 5).layers, activation="tanh", layer_norms=norms)
    path = tmp_path / "net.onnx"
    network.save_onnx(path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    images = np.random.default_rng(1).integers(0, 256, (33, 5, 6)).astype(np.uint8)
    found = runtime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"images": images.reshape(33, -1)})[0]
    # As above; what is normalised is divided by its deviation, which is not far below 1.
    assert np.abs(found - Classifier(network, device="cpu").logits(images)).max() < 10 * 64 * 8 * 2.0**-24


def test_the_runtime_has_batch_norms(tmp_path):
    onnx, runtime = peer("onnx"), peer("onnxruntime")
    random = np.random.default_rng(6)

    def norm(n):
        return tuple(values.astype(np.float32) for values in (random.normal(1, 0.2, n), random.normal(0, 0.2, n), random.normal(0, 0.2, n), random.uniform(0.5, 2, n)))

    network = Network(network_of([30, 64, 17, 7], 5).layers, activation="tanh", batch_norms=[norm(64), norm(17)])
    path = tmp_path / "net.onnx"
    network.save_onnx(path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    images = np.random.default_rng(1).integers(0, 256, (33, 5, 6)).astype(np.uint8)
    found = runtime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"images": images.reshape(33, -1)})[0]
    # As above; deviations are not far below 1.
    assert np.abs(found - Classifier(network, device="cpu").logits(images)).max() < 10 * 64 * 8 * 2.0**-24


def test_images_of_another_size_are_refused(tmp_path):
    network = network_of([6, 3], 1)
    with pytest.raises(ValueError, match="option image_size: 2x4 is not allowed \\(rows and columns of 6 pixels"):
        network.save_onnx(tmp_path / "net.onnx", image_size=(2, 4))
    assert not (tmp_path / "net.onnx").exists()


def test_the_runtime_standardises_features(tmp_path):
    onnx, runtime = peer("onnx"), peer("onnxruntime")
    layers = network_of([30, 17, 7], 5).layers
    random = np.random.default_rng(1)
    mean, deviation = random.normal(size=30), random.uniform(0.1, 10, size=30)
    # More digits than float32 has, of which a feature of 2**24 and its small deviation leave few.
    features = random.normal(size=(33, 30))
    features[:, 0] += 2**24
    mean[0] = 2**24
    outputs = []
    for name, scaling, x in (("raw", (mean, deviation), features), ("ready", None, ((features - mean) / deviation).astype(np.float32))):
        path = tmp_path / f"{name}.onnx"
        Network(layers, scaling=scaling).save_onnx(path, features=True)
        onnx.checker.check_model(onnx.load(path), full_check=True)
        outputs += runtime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"features": x})
    # The same sums of the same numbers.
    assert (outputs[0] == outputs[1]).all()
    # Of a network that says what it takes, nobody need say it.
    Network(layers, scaling=(mean, deviation)).save_onnx(path)
    assert (runtime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"features": features})[0] == outputs[0]).all()
