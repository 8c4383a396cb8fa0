#!/usr/bin/env python3
"""Times PyTorch on the trainings of our bench, beside it:

    cargo bench -p warpplay --bench azero -- train --device cuda --peer "python3 docs/peers/azero.py" --peer "python3 docs/peers/azero.py --compile"

The same network, with batch norm over the batch, policy and value loss and Adam with L2 (of all parameters; ours has it for weights alone, which takes no time). Positions lie on the GPU, observations as bytes. A step gathers its
positions, trains, and moves on to the next; it is recorded once as a CUDA graph and replayed. Activations have channels last. `tf32` lets PyTorch use TF32;
`bf16` is autocast with weights of single precision. Seconds are those of a step, in epochs of 64, the median of three. With `--compile` the network goes through `torch.compile` first. Needs a GPU and PyTorch.
"""

import torch
import torch.nn.functional as F
from torch import nn

from training import main, seconds_of_step

STEPS = 64


class Block(nn.Module):
    """Convolution and norm; then the sum with another one's output, if there is one, and ReLU."""

    def __init__(self, inputs, outputs, side):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, side, padding=side // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x, residual=None):
        x = self.norm(self.conv(x))
        return F.relu(x if residual is None else x + residual)


class Network(nn.Module):
    """As ours: a torso of residual blocks, and heads for value and policy."""

    def __init__(self, shape):
        super().__init__()
        width, cells = shape["width"], shape["rows"] * shape["columns"]
        self.first = Block(shape["planes"], width, 3)
        self.torso = nn.ModuleList(Block(width, width, 3) for _ in range(2 * shape["depth"]))
        self.value = Block(width, shape["value_filters"], 1)
        self.policy = Block(width, shape["policy_filters"], 1)
        self.hidden = nn.Linear(shape["value_filters"] * cells, shape["value_hidden"])
        self.out = nn.Linear(shape["value_hidden"], 1)
        self.logits = nn.Linear(shape["policy_filters"] * cells, shape["actions"])

    def forward(self, x):
        x = self.first(x)
        for first, second in zip(self.torso[::2], self.torso[1::2]):
            x = second(first(x), x)
        value = self.out(F.relu(self.hidden(self.value(x).flatten(1))))
        return torch.tanh(value).squeeze(1), self.logits(self.policy(x).flatten(1))


def seconds(setting, compiled):
    """Seconds of a step."""
    shape, batch, precision = setting["shape"], setting["batch"], setting["precision"]
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    n = STEPS * batch
    planes = torch.randint(0, 2, (n, shape["planes"], shape["rows"], shape["columns"]), dtype=torch.uint8, device="cuda")
    actions = torch.randint(0, shape["actions"], (n,), device="cuda")
    legal = torch.rand(n, shape["actions"], device="cuda") < 0.05
    legal[torch.arange(n, device="cuda"), actions] = True
    results = torch.randint(-1, 2, (n,), device="cuda").float()
    network = Network(shape).cuda().to(memory_format=torch.channels_last)
    forward = torch.compile(network) if compiled else network
    update = torch.optim.Adam(network.parameters(), lr=0.001, weight_decay=1e-4, capturable=True, fused=True)
    order = torch.randperm(n, device="cuda")
    position = torch.zeros((), dtype=torch.long, device="cuda")
    within = torch.arange(batch, device="cuda")
    autocast = torch.autocast("cuda", dtype=torch.bfloat16, enabled=precision == "bf16", cache_enabled=False)

    def step():
        samples = order[position + within]
        x = planes[samples].float().contiguous(memory_format=torch.channels_last)
        with autocast:
            value, logits = forward(x)
        logits = logits.float().masked_fill(~legal[samples], float("-inf"))
        loss = F.cross_entropy(logits, actions[samples]) + F.mse_loss(value.float(), results[samples])
        update.zero_grad(set_to_none=True)
        loss.backward()
        update.step()
        position.add_(batch)

    return seconds_of_step(step, STEPS, order, position, epochs=3)


if __name__ == "__main__":
    main(__doc__, seconds)
