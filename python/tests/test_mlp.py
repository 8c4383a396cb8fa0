"""Perceptrons: against the same arithmetic in numpy, from a training to a file."""

import copy
import pickle

import numpy as np
import pytest

import warpplay
from warpplay.mlp import Classifier, Network, Trainer


def two_classes(n, seed):
    """Images of 2 x 3 pixels: bright in the first row or in the second."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, n).astype(np.uint8)
    images = random.integers(0, 100, (n, 2, 3)).astype(np.uint8)
    images[np.arange(n), labels] += 150
    return images, labels


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_probabilities_are_those_of_numpy(device):
    random = np.random.default_rng(3)
    sizes = [6, 5, 4]
    layers = [
        (random.normal(size=(n, m)).astype(np.float32), random.normal(size=m).astype(np.float32))
        for n, m in zip(sizes, sizes[1:])
    ]
    images = random.integers(0, 256, (17, 2, 3)).astype(np.uint8)
    values = images.reshape(17, 6) / 255.0
    for at, (weights, bias) in enumerate(layers):
        values = values @ weights.astype(np.float64) + bias
        if at == 0:
            values = np.maximum(values, 0)
    classifier = Classifier(Network(layers), device=device)
    # Some dozen roundings of single precision.
    assert np.abs(classifier.predict_proba(images) - softmax(values)).max() < 1e-5
    # The layout in memory is no matter.
    turned = np.asfortranarray(images)
    assert (classifier.predict(turned) == classifier.predict(images)).all()


def test_a_training_learns_and_its_network_is_kept(tmp_path):
    images, labels = two_classes(400, 1)
    test_images, test_labels = two_classes(100, 2)
    seen = []
    trainer = Trainer(
        images, labels, test_images=test_images, test_labels=test_labels, device="cpu", hidden=[8], epochs=10, batch=16, learning_rate=0.1
    )
    report = trainer.run(progress=lambda progress: seen.append(progress["steps"]))
    assert report["epochs"][-1]["loss"] < report["epochs"][0]["loss"] and seen
    network = trainer.network()
    path = tmp_path / "net.safetensors"
    network.save(path)
    classes = Classifier(Network.load(path), device="cpu").predict(test_images)
    assert (classes == test_labels).mean() > 0.95
    assert [weights.shape for weights, _ in network.layers] == [(6, 8), (8, 2)]


def test_features_are_trained_and_classified():
    random = np.random.default_rng(1)
    features = random.normal(0, 1, (64, 3)).astype(np.float32)
    labels = (features[:, 0] > 0).astype(np.uint8)
    trainer = Trainer(features, labels, device="cpu", hidden=[8], batch=16, epochs=40, learning_rate=0.1, test_images=features, test_labels=labels)
    trainer.run()
    network = trainer.network()
    logits = Classifier(network, device="cpu", features=True).logits(features)
    (first, first_bias), (second, second_bias) = network.layers
    expected = np.maximum(features @ first + first_bias, 0) @ second + second_bias
    # Sums of at most nine products of numbers of a few units, in single precision.
    assert np.abs(logits - expected).max() <= 9 * 2.0**-23 * np.abs(expected).max() * 4
    with pytest.raises(ValueError, match="samples have 2 features, the network has 3 inputs"):
        Classifier(network, device="cpu", features=True).logits(features[:, :2].copy())


def test_what_is_not_allowed_is_told(tmp_path):
    images, labels = two_classes(8, 1)
    with pytest.raises(ValueError, match="8 images and 7 labels"):
        Trainer(images, labels[:7], device="cpu")
    with pytest.raises(ValueError, match="given together"):
        Trainer(images, labels, test_images=images, device="cpu")
    with pytest.raises(TypeError, match="rate is not an option"):
        Trainer(images, labels, device="cpu", rate=1)
    with pytest.raises(ValueError, match="expected 2 dimensions"):
        Trainer(images.astype(np.float32), labels, device="cpu")
    with pytest.raises(TypeError):
        Trainer(images.astype(np.float64), labels, device="cpu")
    network = Network([(np.zeros((6, 2), np.float32), np.zeros(2, np.float32))])
    with pytest.raises(ValueError, match="4 x 3 pixels, the network has 6 inputs"):
        Classifier(network, device="cpu").predict(np.zeros((1, 4, 3), np.uint8))
    with pytest.raises(ValueError, match="4 x 3 pixels, the network has 6 inputs"):
        Classifier(network, device="cpu").predict_proba(np.zeros((1, 4, 3), np.uint8))
    with pytest.raises(ValueError, match="a test image has the shape .3, 2., expected .2, 3."):
        Trainer(images, labels, test_images=np.zeros((1, 3, 2), np.uint8), test_labels=labels[:1], device="cpu", batch=8)
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="weights of layer 1, element 3"):
            Network([(np.array([[0, 0], [0, value]], np.float32), np.zeros(2, np.float32))])
        with pytest.raises(ValueError, match="bias of layer 1, element 1"):
            Network([(np.zeros((2, 2), np.float32), np.array([0, value], np.float32))])
    # More than any memory has.
    with pytest.raises(MemoryError, match="no room in memory"):
        Classifier(network, device="cpu").predict(np.broadcast_to(np.uint8(1), (2**58, 2, 3)))
    # Numbers of numpy are numbers.
    Trainer(images, labels, device="cpu", batch=np.int64(8), learning_rate=np.float32(0.1))
    with pytest.raises(warpplay.WarpplayError, match="nothing.safetensors"):
        Network.load(tmp_path / "nothing.safetensors")


def test_a_network_has_layer_norms(tmp_path):
    layers = [(np.array([[0.03, 0.01]], np.float32), np.full(2, 0.5, np.float32)), (np.array([[1], [10]], np.float32), np.zeros(1, np.float32))]
    norms = [(np.array([2, 0.5], np.float32), np.array([0.25, -0.5], np.float32))]
    network = Network(layers, activation="tanh", layer_norms=norms)
    # Distances of 0.01 from the mean of two.
    unit = 0.01 / np.sqrt(1e-4 + 1e-5)
    expected = np.tanh(2 * unit + 0.25) + 10 * np.tanh(-0.5 * unit - 0.5)
    for pytorch in (False, True):
        network.save(tmp_path / "net.safetensors", pytorch=pytorch)
        for kept in (network, pickle.loads(pickle.dumps(network)), copy.deepcopy(network), Network.load(tmp_path / "net.safetensors")):
            assert all((found == given).all() for found, given in zip(kept.layer_norms[0], norms[0]))
            assert Classifier(kept, device="cpu").logits(np.array([[[255]]], np.uint8))[0, 0] == pytest.approx(expected, abs=1e-5)
    assert Network(layers).layer_norms == []
    with pytest.raises(ValueError, match="gain of layer 1"):
        Network(layers, layer_norms=[(np.ones(3, np.float32), np.zeros(3, np.float32))])


def test_a_network_keeps_its_loss_and_scaling(tmp_path):
    layers = [(np.ones((2, 1), np.float32), np.zeros(1, np.float32))]
    mean, deviation = np.array([0.1, -3.0]), [0.3, 7.0]
    network = Network(layers, loss="mse", scaling=(mean, deviation))
    network.save(tmp_path / "net.safetensors")
    for kept in (network, pickle.loads(pickle.dumps(network)), copy.deepcopy(network), Network.load(tmp_path / "net.safetensors")):
        assert kept.loss == "mse"
        assert kept.scaling[0].tolist() == mean.tolist() and kept.scaling[1].tolist() == deviation
    plain = Network(layers)
    assert (plain.loss, plain.features, plain.scaling) == ("cross_entropy", False, None)
    assert Classifier(network, device="cpu").logits(np.array([[1, 2]], np.float32)).tolist() == [[3.0]]
    trained = Trainer(np.zeros((4, 2), np.float32), np.zeros((4, 1), np.float32), device="cpu", loss="huber", hidden=[], batch=2).network()
    assert (trained.loss, trained.features, trained.scaling) == ("huber", True, None)
    assert trained.with_scaling(mean, deviation).scaling[1].tolist() == deviation
    for wrong in ((mean, [1.0]), (mean, [1.0, 0.0]), ([np.inf, 0.0], deviation)):
        with pytest.raises(ValueError, match="of the scaling"):
            Network(layers, scaling=wrong)


def test_a_network_has_batch_norms(tmp_path):
    layers = [(np.array([[0.75, 0.5]], np.float32), np.full(2, 0.5, np.float32)), (np.array([[1], [10]], np.float32), np.zeros(1, np.float32))]
    norms = [tuple(np.array(values, np.float32) for values in ([2, 0.5], [0.25, -0.5], [0.5, -1], [0.25, 4]))]
    network = Network(layers, activation="tanh", batch_norms=norms)
    expected = np.tanh(2 * 0.75 / np.sqrt(0.25 + 1e-5) + 0.25) + 10 * np.tanh(0.5 * 2 / np.sqrt(4 + 1e-5) - 0.5)
    for pytorch in (False, True):
        network.save(tmp_path / "net.safetensors", pytorch=pytorch)
        for kept in (network, pickle.loads(pickle.dumps(network)), copy.deepcopy(network), Network.load(tmp_path / "net.safetensors")):
            assert all((found == given).all() for found, given in zip(kept.batch_norms[0], norms[0]))
            assert Classifier(kept, device="cpu").logits(np.array([[[255]]], np.uint8))[0, 0] == pytest.approx(expected, abs=1e-5)
    assert Network(layers).batch_norms == []
    with pytest.raises(ValueError, match="gain of layer 1"):
        Network(layers, batch_norms=[tuple(np.ones(3, np.float32) for _ in range(4))])
    with pytest.raises(ValueError, match="option batch_norms: 1 is not allowed \\(none with layer_norms\\)"):
        Network(layers, layer_norms=[norms[0][:2]], batch_norms=norms)


def test_units_are_dropped_in_training_alone():
    random = np.random.default_rng(2)
    images, labels = random.integers(0, 256, (64, 4, 4), np.uint8), random.integers(0, 3, 64, np.uint8)

    def trained(**given):
        trainer = Trainer(images, labels, device="cpu", hidden=[8], batch=16, epochs=2, **given)
        report = trainer.run()
        return [epoch["loss"] for epoch in report["epochs"]], Classifier(trainer.network(), device="cpu").logits(images)

    (losses, logits), (again, same), (whole, _) = trained(dropout=0.5), trained(dropout=0.5), trained()
    assert losses == again and (logits == same).all() and losses != whole
    with pytest.raises(ValueError, match=r"option dropout: 1 is not allowed \(at least 0 and below 1\)"):
        trained(dropout=1.0)


def test_a_network_has_an_activation(tmp_path):
    layers = [(np.ones((2, 1), np.float32), np.full(1, -0.5, np.float32)), (np.ones((1, 1), np.float32), np.zeros(1, np.float32))]
    images = np.array([[[255, 0]]], np.uint8)
    for activation, expected in [("relu", 0.5), ("tanh", np.tanh(0.5)), ("sigmoid", 1 / (1 + np.exp(-0.5))), ("gelu", 0.5 * 0.6914624612740131)]:
        network = Network(layers, activation=activation)
        network.save(tmp_path / "net.safetensors")
        for kept in (network, pickle.loads(pickle.dumps(network)), copy.deepcopy(network), Network.load(tmp_path / "net.safetensors")):
            assert kept.activation == activation
            assert Classifier(kept, device="cpu").logits(images)[0, 0] == pytest.approx(expected, abs=1e-6)
    Network(layers).save(tmp_path / "net.safetensors")
    assert Network.load(tmp_path / "net.safetensors", activation="tanh").activation == "tanh"
    with pytest.raises(ValueError, match="option activation: swish is not allowed"):
        Network(layers, activation="swish")


def test_a_network_is_kept_by_pickle():
    random = np.random.default_rng(1)
    layers = [(random.normal(size=(6, 3)).astype(np.float32), random.normal(size=3).astype(np.float32))]
    for kept in (pickle.loads(pickle.dumps(Network(layers))), copy.deepcopy(Network(layers))):
        assert all((found == given).all() for found, given in zip(kept.layers[0], layers[0]))


TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]


@pytest.mark.parametrize("kind", TYPES)
def test_labels_of_every_integer_type_are_classes(kind):
    images, labels = two_classes(40, 3)
    options = {"device": "cpu", "hidden": [4], "epochs": 2, "batch": 8}
    losses = [
        [epoch["loss"] for epoch in Trainer(images, given, test_images=images, test_labels=given, **options).run()["epochs"]]
        for given in (labels, labels.astype(kind), np.repeat(labels, 2).astype(kind)[::2])
    ]
    assert losses[0] == losses[1] == losses[2]
    # An array of another library.
    shared = warpplay.mlp.Trainer(images, Lent(labels.astype(kind)), **options)
    assert [epoch["loss"] for epoch in shared.run()["epochs"]] == losses[0]
    for value in (-1, 256):
        if np.iinfo(kind).min <= value <= np.iinfo(kind).max:
            wrong = labels.astype(kind)
            wrong[7] = value
            with pytest.raises(ValueError, match=f"^test_labels\\[7\\] is {value}, a class of 0 to 255 is expected$"):
                Trainer(images, labels, test_images=images, test_labels=wrong, **options)


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", ">i8"])
def test_labels_that_are_no_integers_are_refused(kind):
    images, labels = two_classes(40, 3)
    with pytest.raises(TypeError, match=f"^labels has values of {kind}, expected integers in the machine's order of bytes$"):
        Trainer(images, labels.astype(kind), device="cpu", batch=8)


class Lent:
    """An array that is nothing but shared, with a name of its type as PyTorch has it."""

    def __init__(self, array):
        self.array = array
        self.dtype = f"torch.{array.dtype}"

    def __dlpack__(self, **given):
        return self.array.__dlpack__(**given)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
