#!/usr/bin/env python3
"""Times PyTorch on the trainings of our bench, beside it:

    cargo bench -p warpplay --bench mlp -- --device cuda --only layers,grid --peer "python3 docs/peers/mlp.py" --peer "python3 docs/peers/mlp.py --compile"

Images of 784 pixels lie on the GPU as bytes, as ours do. A step gathers its samples, trains, and moves on to the next; it is recorded once as a CUDA graph and replayed.
`tf32` lets PyTorch use TF32; `bf16` is autocast with weights of single precision. Seconds are those of an epoch of 60,000 samples, the median of five.
With `--compile` the network goes through `torch.compile` first. Needs a GPU and PyTorch.
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F

from serve import serve

SAMPLES = 60_000


def seconds(setting, compiled):
    """Seconds of an epoch."""
    hidden, batch, precision, optimizer = (setting[name] for name in ("hidden", "batch", "precision", "optimizer"))
    torch.manual_seed(1)
    # Else the networks of earlier settings count among this one's compilations.
    torch.compiler.reset()
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

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
            position.zero_()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    times = []
    for _ in range(6):
        position.zero_()
        torch.cuda.synchronize()
        start = time.perf_counter()
        order.copy_(torch.randperm(SAMPLES, device="cuda"))
        for _ in range(steps):
            graph.replay()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * (SAMPLES / batch) / steps)
    return statistics.median(times[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    arguments = parser.parse_args()
    how = "torch.compile" if arguments.compile else "graph"
    serve(f"PyTorch {torch.__version__.split('+')[0]}, {how}", lambda setting: seconds(setting, arguments.compile))


if __name__ == "__main__":
    main()
