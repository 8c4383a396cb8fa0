#!/usr/bin/env python3
"""Times PyTorch on the trainings of our bench, beside it:

    cargo bench -p warpplay --bench mlp -- --device cuda --only layers,grid --peer "python3 docs/peers/mlp.py" --peer "python3 docs/peers/mlp.py --compile"

Images of 784 pixels lie on the GPU as bytes, as ours do. A step gathers its samples, trains, and moves on to the next; it is recorded once as a CUDA graph and replayed.
`tf32` lets PyTorch use TF32; `bf16` is autocast with weights of single precision. Seconds are those of an epoch of 60,000 samples, the median of five.
With `--compile` the network goes through `torch.compile` first. Needs a GPU and PyTorch.
"""

import torch
import torch.nn.functional as F

from training import main, seconds_of_step

SAMPLES = 60_000


def seconds(setting, compiled):
    """Seconds of an epoch."""
    hidden, batch, precision, optimizer = (setting[name] for name in ("hidden", "batch", "precision", "optimizer"))
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    images = torch.randint(0, 256, (SAMPLES, 784), dtype=torch.uint8, device="cuda")
    labels = torch.randint(0, 10, (SAMPLES,), device="cuda")
    sizes = [784, *hidden, 10]
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1]).cuda()
    update = (
        torch.optim.Adam(network.parameters(), lr=0.001, capturable=True, fused=True)
        if optimizer == "adam"
        else torch.optim.SGD(network.parameters(), lr=0.001, fused=True)
    )
    forward = torch.compile(network) if compiled else network
    # A short last batch is left out.
    steps = SAMPLES // batch
    order = torch.randperm(SAMPLES, device="cuda")
    position = torch.zeros((), dtype=torch.long, device="cuda")
    within = torch.arange(batch, device="cuda")
    autocast = torch.autocast("cuda", dtype=torch.bfloat16, enabled=precision == "bf16", cache_enabled=False)

    def step():
        samples = order[position + within]
        pixels = images[samples].float() / 255.0
        with autocast:
            loss = F.cross_entropy(forward(pixels), labels[samples])
        update.zero_grad(set_to_none=True)
        loss.backward()
        update.step()
        position.add_(batch)

    return seconds_of_step(step, steps, order, position, epochs=5) * SAMPLES / batch


if __name__ == "__main__":
    main(__doc__, seconds)
