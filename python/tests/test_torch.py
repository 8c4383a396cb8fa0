"""PyTorch on the CPU: the same perceptron, forward and trained, and the same network for checkers from a state dictionary."""

import numpy as np
import pytest

from peers import peer
from pytorch import expect_same, losses_of
from warpplay.azero import Evaluator
from warpplay.mlp import Classifier, Network, Trainer


def data(n, seed):
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (n, 3, 4)).astype(np.uint8), random.integers(0, 5, n).astype(np.uint8)


def sequential(torch, layers):
    """Our layers as PyTorch's."""
    modules = []
    for weights, bias in layers:
        linear = torch.nn.Linear(*weights.shape)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(weights.T.copy()))
            linear.bias.copy_(torch.from_numpy(bias))
        modules += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1])


def inputs(torch, images):
    return torch.from_numpy(images.reshape(len(images), -1)).float() / 255


def cross_entropy(torch, model, images, labels):
    """The loss of a model in double precision on the whole set, to be asked at each step."""
    of, classes = inputs(torch, images).double(), torch.from_numpy(labels).long()
    return lambda: torch.nn.functional.cross_entropy(model(of), classes)


def linears(torch, model):
    return [module for module in model if isinstance(module, torch.nn.Linear)]


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_a_perceptron_of_a_state_dictionary_has_pytorchs_probabilities(device, tmp_path):
    torch = peer("torch")
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(12, 9), torch.nn.ReLU(), torch.nn.Linear(9, 7), torch.nn.ReLU(), torch.nn.Linear(7, 5))
    state = model.state_dict()
    layers = [(state[f"{at}.weight"].numpy().T, state[f"{at}.bias"].numpy()) for at in (0, 2, 4)]
    images, _ = data(40, 2)
    with torch.no_grad():
        expected = torch.softmax(model(inputs(torch, images)), dim=1).numpy()
    found = Classifier(Network(layers), device=device).predict_proba(images)
    # Some dozen roundings of single precision, of numbers about 1.
    assert np.abs(found - expected).max() < 2e-6


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop"])
def test_a_training_goes_as_pytorchs(optimizer):
    torch = peer("torch")
    images, labels = data(64, 3)
    rate, decay = (0.5, 0.01) if optimizer in ("sgd", "momentum", "nesterov") else (0.01, 0.01)
    options = {
        "sgd": {"name": "sgd"},
        "momentum": {"name": "momentum", "momentum": 0.9},
        "nesterov": {"name": "nesterov", "momentum": 0.9},
        "adam": {"name": "adam", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
        "adamw": {"name": "adamw", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
        "rmsprop": {"name": "rmsprop", "alpha": 0.99, "epsilon": 1e-8},
    }[optimizer]
    # The whole set is one batch, so that the order of samples is no matter.
    trainer = Trainer(
        images, labels, device="cpu", precision="f64", hidden=[8], batch=64, epochs=10, learning_rate=rate, weight_decay=decay, optimizer=options
    )
    model = sequential(torch, trainer.network().layers).double()
    theirs = {
        "sgd": lambda of: torch.optim.SGD(of, lr=rate, weight_decay=decay),
        "momentum": lambda of: torch.optim.SGD(of, lr=rate, momentum=0.9, weight_decay=decay),
        "nesterov": lambda of: torch.optim.SGD(of, lr=rate, momentum=0.9, nesterov=True, weight_decay=decay),
        "adam": lambda of: torch.optim.Adam(of, lr=rate, weight_decay=decay),
        "adamw": lambda of: torch.optim.AdamW(of, lr=rate, weight_decay=decay),
        "rmsprop": lambda of: torch.optim.RMSprop(of, lr=rate, weight_decay=decay),
    }[optimizer](model.parameters())
    losses = losses_of(model, theirs, cross_entropy(torch, model, images, labels), 10)
    report = trainer.run()
    # Double precision on both sides, and a network that is given out in single: 6e-8 of weights about 1.
    assert [epoch["loss"] for epoch in report["epochs"]] == pytest.approx(losses, abs=1e-6)
    expect_same(trainer.network().layers, linears(torch, model), 1e-5)


@pytest.mark.parametrize("smoothing, norm", [(0.1, None), (0.0, 0.2), (0.1, 0.2)])
def test_smoothed_labels_and_clipped_gradients_are_pytorchs(smoothing, norm):
    torch = peer("torch")
    images, labels = data(64, 4)
    trainer = Trainer(
        images, labels, device="cpu", precision="f64", hidden=[8], batch=64, epochs=5, learning_rate=0.5, label_smoothing=smoothing, clip_norm=norm
    )
    model = sequential(torch, trainer.network().layers).double()
    theirs, criterion = torch.optim.SGD(model.parameters(), lr=0.5), torch.nn.CrossEntropyLoss(label_smoothing=smoothing)
    of, classes = inputs(torch, images).double(), torch.from_numpy(labels).long()
    losses = losses_of(model, theirs, lambda: criterion(model(of), classes), 5, norm=norm)
    # As above.
    assert [epoch["loss"] for epoch in trainer.run()["epochs"]] == pytest.approx(losses, abs=1e-6)
    expect_same(trainer.network().layers, linears(torch, model), 1e-5)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_layer_norms_are_pytorchs(optimizer):
    torch = peer("torch")
    images, labels = data(64, 4)
    rate = 0.1 if optimizer == "sgd" else 0.01
    trainer = Trainer(
        images, labels, device="cpu", precision="f64", hidden=[8, 6], layer_norm=True, batch=64, epochs=5, learning_rate=rate, optimizer=optimizer
    )
    modules = []
    for module in sequential(torch, trainer.network().layers):
        modules += [module, torch.nn.LayerNorm(module.out_features)] if isinstance(module, torch.nn.Linear) else [module]
    model = torch.nn.Sequential(*modules[:-1]).double()
    theirs = {
        "sgd": lambda of: torch.optim.SGD(of, lr=rate),
        "adamw": lambda of: torch.optim.AdamW(of, lr=rate, weight_decay=0.0),
    }[optimizer](model.parameters())
    losses = losses_of(model, theirs, cross_entropy(torch, model, images, labels), 5)
    # As above.
    assert [epoch["loss"] for epoch in trainer.run()["epochs"]] == pytest.approx(losses, abs=1e-6)
    norms = [module for module in model if isinstance(module, torch.nn.LayerNorm)]
    assert len(trainer.network().layer_norms) == len(norms) == 2
    for (gain, shift), norm in zip(trainer.network().layer_norms, norms):
        assert np.abs(gain - norm.weight.detach().numpy()).max() < 1e-5
        assert np.abs(shift - norm.bias.detach().numpy()).max() < 1e-5


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_batch_norms_are_pytorchs(optimizer):
    """Batches in the order of the set, since each is the whole set; losses are of the batch's moments, and the test set's of running ones."""
    torch = peer("torch")
    images, labels = data(64, 4)
    rate = 0.1 if optimizer == "sgd" else 0.01
    trainer = Trainer(
        images,
        labels,
        test_images=images,
        test_labels=labels,
        device="cpu",
        precision="f64",
        hidden=[8, 6],
        batch_norm=True,
        batch=64,
        epochs=5,
        learning_rate=rate,
        optimizer=optimizer,
    )
    modules = []
    for module in sequential(torch, trainer.network().layers):
        modules += [module, torch.nn.BatchNorm1d(module.out_features)] if isinstance(module, torch.nn.Linear) else [module]
    model = torch.nn.Sequential(*modules[:-1]).double()
    theirs = {
        "sgd": lambda of: torch.optim.SGD(of, lr=rate),
        "adamw": lambda of: torch.optim.AdamW(of, lr=rate, weight_decay=0.0),
    }[optimizer](model.parameters())
    losses, tested = [], []
    targets = torch.from_numpy(labels).long()
    for _ in range(5):
        theirs.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs(torch, images).double()), targets)
        losses.append(loss.item())
        loss.backward()
        theirs.step()
        with torch.no_grad():
            tested.append(torch.nn.functional.cross_entropy(model.eval()(inputs(torch, images).double()), targets).item())
        model.train()
    # As above.
    epochs = trainer.run()["epochs"]
    assert [epoch["loss"] for epoch in epochs] == pytest.approx(losses, abs=1e-6)
    assert [epoch["test_loss"] for epoch in epochs] == pytest.approx(tested, abs=1e-6)
    norms = [module for module in model if isinstance(module, torch.nn.BatchNorm1d)]
    assert len(trainer.network().batch_norms) == len(norms) == 2
    for found, norm in zip(trainer.network().batch_norms, norms):
        expected = (norm.weight, norm.bias, norm.running_mean, norm.running_var)
        for values, tensor in zip(found, expected):
            assert np.abs(values - tensor.detach().numpy()).max() < 1e-5


@pytest.mark.parametrize("loss", ["mse", "huber"])
def test_losses_of_regressions_are_pytorchs(loss):
    torch = peer("torch")
    images, _ = data(64, 4)
    # On both sides of where Huber's loss becomes linear.
    targets = np.random.default_rng(3).uniform(-3, 3, (64, 2)).astype(np.float32)
    trainer = Trainer(
        images, targets, device="cpu", precision="f64", hidden=[8], loss=loss, batch=64, epochs=5, learning_rate=0.1, test_images=images, test_labels=targets
    )
    model = sequential(torch, trainer.network().layers).double()
    criterion = {"mse": torch.nn.MSELoss, "huber": torch.nn.HuberLoss}[loss]()
    theirs, of, wanted = torch.optim.SGD(model.parameters(), lr=0.1), inputs(torch, images).double(), torch.from_numpy(targets).double()
    losses = losses_of(model, theirs, lambda: criterion(model(of), wanted), 5)
    report = trainer.run()
    # As above.
    assert [epoch["loss"] for epoch in report["epochs"]] == pytest.approx(losses, abs=1e-6)
    assert report["epochs"][0]["test_accuracy"] is None
    expect_same(trainer.network().layers, linears(torch, model), 1e-5)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "gelu"])
def test_activations_are_pytorchs(activation):
    torch = peer("torch")
    images, labels = data(64, 4)
    trainer = Trainer(
        images, labels, device="cpu", precision="f64", hidden=[8, 6], activation=activation, batch=64, epochs=5, learning_rate=0.5
    )
    module = {"tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid, "gelu": torch.nn.GELU}[activation]
    first = sequential(torch, trainer.network().layers)
    model = torch.nn.Sequential(*[module() if isinstance(layer, torch.nn.ReLU) else layer for layer in first]).double()
    theirs = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = losses_of(model, theirs, cross_entropy(torch, model, images, labels), 5)
    # As above.
    assert [epoch["loss"] for epoch in trainer.run()["epochs"]] == pytest.approx(losses, abs=1e-6)
    network = trainer.network()
    assert network.activation == activation
    expect_same(network.layers, linears(torch, model), 1e-5)
    with torch.no_grad():
        expected = torch.softmax(model(inputs(torch, images).double()), dim=1).numpy()
    # Some dozen roundings of single precision, and weights that differ by 1e-5 at most.
    assert np.abs(Classifier(network, device="simt").predict_proba(images) - expected).max() < 1e-3


def residual_network(torch, planes, width, depth, side, hidden, actions):
    """OpenSpiel's residual network (`alpha_zero_torch`, model.cc) with the names of its state, written with PyTorch's modules."""
    nn = torch.nn

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            conv = lambda n_in, n_out, side: nn.Conv2d(n_in, n_out, side, padding=side // 2)
            norm = lambda n: nn.BatchNorm2d(n, eps=1e-3)
            first = nn.ModuleDict({"input_conv": conv(planes, width, 3), "input_batch_norm": norm(width)})
            blocks = [
                nn.ModuleDict(
                    {
                        f"res_{at}_conv_1": conv(width, width, 3),
                        f"res_{at}_batch_norm_1": norm(width),
                        f"res_{at}_conv_2": conv(width, width, 3),
                        f"res_{at}_batch_norm_2": norm(width),
                    }
                )
                for at in range(depth)
            ]
            heads = nn.ModuleDict(
                {
                    "value_conv": conv(width, 1, 1),
                    "value_batch_norm": norm(1),
                    "value_linear_1": nn.Linear(side * side, hidden),
                    "value_linear_2": nn.Linear(hidden, 1),
                    "policy_conv": conv(width, 2, 1),
                    "policy_batch_norm": norm(2),
                    "policy_linear": nn.Linear(2 * side * side, actions),
                }
            )
            self.layers = nn.ModuleList([first, *blocks, heads])

        def forward(self, x, legal):
            relu = torch.relu
            first, *blocks, heads = self.layers
            x = relu(first["input_batch_norm"](first["input_conv"](x)))
            for at, block in enumerate(blocks):
                y = relu(block[f"res_{at}_batch_norm_1"](block[f"res_{at}_conv_1"](x)))
                x = relu(x + block[f"res_{at}_batch_norm_2"](block[f"res_{at}_conv_2"](y)))
            value = relu(heads["value_batch_norm"](heads["value_conv"](x))).flatten(1)
            value = torch.tanh(heads["value_linear_2"](relu(heads["value_linear_1"](value))))[:, 0]
            policy = relu(heads["policy_batch_norm"](heads["policy_conv"](x))).flatten(1)
            logits = heads["policy_linear"](policy).masked_fill(~legal, -torch.inf)
            return value, torch.softmax(logits, dim=1)

    return Layers()


@pytest.mark.parametrize("device, width, depth", [("cpu", 32, 3), ("simt", 8, 1)])
def test_a_network_of_a_state_dictionary_has_pytorchs_values_and_policies(device, width, depth, tmp_path):
    torch = peer("torch")
    torch.manual_seed(1)
    model = residual_network(torch, planes=5, width=width, depth=depth, side=8, hidden=16, actions=40)
    # Statistics as after a training.
    model.train()
    model(torch.rand(64, 5, 8, 8), torch.ones(64, 40, dtype=torch.bool))
    model.eval()
    path = tmp_path / "network.pt"
    torch.save(model.state_dict(), path)
    random = np.random.default_rng(2)
    observations = random.integers(0, 2, (4, 5, 8, 8)).astype(np.float32)
    legal = random.integers(0, 2, (4, 40)).astype(np.uint8)
    with torch.no_grad():
        # In double precision: the errors are ours.
        value, policy = model.double()(torch.from_numpy(observations).double(), torch.from_numpy(legal == 1))
    values, policies = Evaluator(path, device=device).evaluate(observations, legal)
    # PyTorch itself is 7e-7 (values) and 6e-7 (policies) from double precision on a larger network of this kind (tests/golden/azero/README.md).
    assert np.abs(values - value.numpy()).max() < 3e-6
    assert np.abs(policies - policy.numpy()).max() < 3e-6
