"""Networks of convolutions: against the same arithmetic in numpy and in PyTorch, from a training to a file."""

import copy
import math
import pickle

import numpy as np
import pytest

import warpplay
from peers import peer
from pytorch import expect_same, losses_of
from warpplay.mlp import ConvClassifier, ConvNetwork, ConvTrainer

BLOCKS = [[8, 16], [8]]
SIZE = (8, 12)


def data(n, seed, classes=3):
    """Images that are not square."""
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (n, *SIZE)).astype(np.uint8), (np.arange(n) % classes).astype(np.uint8)


def network(seed):
    """Weights of about √(2 / inputs), and biases."""
    random, inputs, layers = np.random.default_rng(seed), 1, []
    for outputs in sum(BLOCKS, []):
        layers.append((random.normal(0, math.sqrt(2 / (9 * inputs)), (3, 3, inputs, outputs)), random.normal(0, 0.1, outputs)))
        inputs = outputs
    inputs *= SIZE[0] // 4 * (SIZE[1] // 4)
    layers.append((random.normal(0, math.sqrt(2 / inputs), (inputs, 3)), random.normal(0, 0.1, 3)))
    return ConvNetwork([(weights.astype(np.float32), bias.astype(np.float32)) for weights, bias in layers], blocks=BLOCKS, image_size=SIZE)


def logits(network, images):
    """Those of numpy in double precision."""
    h, convolutions, at = images[..., None] / 255.0, network.layers[:-1], 0
    for block in network.blocks:
        for _ in block:
            weights, bias = (values.astype(np.float64) for values in convolutions[at])
            padded, (rows, cols) = np.pad(h, ((0, 0), (1, 1), (1, 1), (0, 0))), h.shape[1:3]
            taps = [padded[:, i : i + rows, j : j + cols] @ weights[i, j] for i in range(3) for j in range(3)]
            h, at = np.maximum(sum(taps) + bias, 0), at + 1
        n, rows, cols, channels = h.shape
        h = h.reshape(n, rows // 2, 2, cols // 2, 2, channels).max(axis=(2, 4))
    weights, bias = network.layers[-1]
    return h.reshape(len(h), -1) @ weights.astype(np.float64) + bias


def test_logits_are_those_of_numpy():
    (images, _), net = data(11, 1), network(2)
    classifier, expected = ConvClassifier(net, device="cpu"), logits(net, images)
    # Four layers of sums of at most 144 products, in single precision.
    assert np.abs(classifier.logits(images) - expected).max() < 4 * 144 * 2.0**-24 * np.abs(expected).max()
    powers = np.exp(expected - expected.max(axis=1, keepdims=True))
    assert np.abs(classifier.predict_proba(images) - powers / powers.sum(axis=1, keepdims=True)).max() < 1e-4
    classes = classifier.predict(images)
    assert classes.dtype == np.uint32 and (classes == expected.argmax(axis=1)).all()
    # The layout in memory is no matter, nor whose array it is, and no image has no logits.
    assert (classifier.logits(np.asfortranarray(images)) == classifier.logits(images)).all()
    assert classifier.logits(images[:0]).shape == (0, 3)
    assert np.asarray(classifier.predict(Lent(images)).numpy()).tolist() == classes.tolist()


class Lent:
    """An array that is nothing but shared."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **given):
        return self.array.__dlpack__(**given)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_kernels_have_the_logits_of_the_cpu():
    (images, _), net = data(3, 1), network(2)
    # Operands are rounded to 8 bits, 2⁻⁹ of each at most: two of each product, in four layers.
    expected = logits(net, images)
    assert np.abs(ConvClassifier(net, device="simt", batch=2).logits(images) - expected).max() < 8 * 2.0**-8 * np.abs(expected).max()


def test_a_training_learns_goes_on_and_is_kept(tmp_path):
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 120).astype(np.int64)
    images = random.integers(0, 60, (120, *SIZE)).astype(np.uint8)
    # Bright rows or bright columns.
    images[labels == 0, ::4] += 150
    images[labels == 1, :, ::4] += 150
    options = {"device": "cpu", "blocks": [[8], [8]], "batch": 20, "epochs": 4, "test_images": images[:40], "test_labels": labels[:40]}
    trainer, seen = ConvTrainer(images, labels, **options), []
    report = trainer.run(progress=lambda told: seen.append(told["steps"]))
    assert report["epochs"][-1]["loss"] < report["epochs"][0]["loss"] and report["epochs"][-1]["test_accuracy"] > 0.9
    assert report["options"]["blocks"] == [[8], [8]] and seen[-1] == 24
    # Stopped after the first epoch, and run on.
    parts = ConvTrainer(images, labels, **options)
    assert parts.run(progress=lambda told: told["steps"] < 6)["stopped_by"] == "request"
    assert [epoch["loss"] for epoch in parts.run()["epochs"]] == [epoch["loss"] for epoch in report["epochs"]]
    net = trainer.network()
    net.save(tmp_path / "conv.safetensors")
    for kept in (ConvNetwork.load(tmp_path / "conv.safetensors"), pickle.loads(pickle.dumps(net)), copy.deepcopy(net), parts.network()):
        assert (kept.blocks, kept.image_size) == ([[8], [8]], SIZE)
        assert all((ours == theirs).all() for kept_pair, pair in zip(kept.layers, net.layers) for ours, theirs in zip(kept_pair, pair))
    assert [weights.shape for weights, _ in net.layers] == [(3, 3, 1, 8), (3, 3, 8, 8), (48, 2)]
    # A training that begins with it.
    options["epochs"] = 1
    assert ConvTrainer(images, labels, network=net, **options).run()["epochs"][0]["loss"] < report["epochs"][0]["loss"]


def test_what_is_not_allowed_is_told(tmp_path):
    images, labels = data(6, 1)
    for options, text in [
        ({"blocks": [[8], [12]]}, r"option blocks: 12 is not allowed \(multiples of 8"),
        ({"blocks": [[8]] * 3}, "multiples of 8, for 3 blocks"),
        ({"momentum": 1}, "option momentum: 1 is not allowed"),
        ({"test_images": images}, "given together"),
        ({"network": network(1)}, "network"),
    ]:
        with pytest.raises(ValueError, match=text):
            ConvTrainer(images, labels, device="cpu", **options)
    with pytest.raises(TypeError, match="hidden is not an option"):
        ConvTrainer(images, labels, device="cpu", hidden=[3])
    with pytest.raises(ValueError, match="images of bytes"):
        ConvTrainer(np.zeros((6, 4), np.float32), labels, device="cpu")
    with pytest.raises(ValueError, match="12 x 8 pixels, those of the network are of 8 x 12"):
        ConvClassifier(network(1), device="cpu").predict(images.transpose(0, 2, 1))
    layers = network(1).layers
    with pytest.raises(ValueError, match=r"weights of layer 1 has the shape \[5, 3, 1, 8\], expected \[3, 3, 1, 8\]"):
        ConvNetwork([(np.zeros((5, 3, 1, 8), np.float32), layers[0][1]), *layers[1:]], blocks=BLOCKS, image_size=SIZE)
    with pytest.raises(ValueError, match="layers"):
        ConvNetwork(layers[1:], blocks=BLOCKS, image_size=SIZE)
    with pytest.raises(warpplay.WarpplayError, match="nothing.safetensors"):
        ConvNetwork.load(tmp_path / "nothing.safetensors")


def sequential(torch, net):
    """Our network as PyTorch's, in double precision."""

    class ChannelsLast(torch.nn.Module):
        def forward(self, h):
            return h.permute(0, 2, 3, 1).flatten(1)

    modules, layers = [], iter(net.layers)
    for block in net.blocks:
        for _ in block:
            weights, bias = next(layers)
            modules += [torch.nn.Conv2d(*weights.shape[2:], 3, padding=1), torch.nn.ReLU()]
            copy_to(torch, modules[-2], weights.transpose(3, 2, 0, 1), bias)
        modules.append(torch.nn.MaxPool2d(2))
    weights, bias = next(layers)
    dense = torch.nn.Linear(*weights.shape)
    copy_to(torch, dense, weights.T, bias)
    return torch.nn.Sequential(*modules, ChannelsLast(), dense).double()


def copy_to(torch, module, weights, bias):
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(weights.copy()))
        module.bias.copy_(torch.from_numpy(bias.copy()))


def test_a_training_goes_as_pytorchs():
    torch = peer("torch")
    (images, labels), net, epochs = data(24, 3), network(4), 6
    # The whole set is one batch, so that the order of samples is no matter.
    options = {"batch": 24, "epochs": epochs, "learning_rate": 0.05, "warmup": 0, "momentum": 0.9, "weight_decay": 0.01}
    trainer = ConvTrainer(images, labels, device="cpu", blocks=BLOCKS, network=net, **options)
    model = sequential(torch, net)
    of, classes = torch.from_numpy(images[:, None]).double() / 255, torch.from_numpy(labels).long()
    with torch.no_grad():
        expected = model(of).numpy()
    # As numpy's above.
    assert np.abs(ConvClassifier(net, device="cpu").logits(images) - expected).max() < 4 * 144 * 2.0**-24 * np.abs(expected).max()
    parameters = dict(model.named_parameters())
    groups = [
        {"params": [value for name, value in parameters.items() if name.endswith("weight")], "weight_decay": 0.01},
        {"params": [value for name, value in parameters.items() if name.endswith("bias")], "weight_decay": 0.0},
    ]
    theirs = torch.optim.SGD(groups, lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.LambdaLR(theirs, lambda step: 0.5 * (1 + math.cos(math.pi * step / epochs)))
    losses = losses_of(model, theirs, lambda: torch.nn.functional.cross_entropy(model(of), classes), epochs, schedule=schedule)
    # Single precision on our side: some 2⁻²⁴ of each of 144 products on the way of a gradient, in six steps of at most 0.05 with ten times the momentum.
    assert [epoch["loss"] for epoch in trainer.run()["epochs"]] == pytest.approx(losses, rel=1e-4)
    expect_same(trainer.network().layers, [module for module in model if hasattr(module, "weight")], 1e-4)
