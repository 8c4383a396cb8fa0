#!/usr/bin/env python3
"""Times PyTorch on the settings of `cargo bench -p warpplay --bench mlp -- --only layers`.

Images of 784 pixels lie on the GPU as bytes, as ours do. A step gathers its samples, trains, and moves on to the next; it is recorded once as a CUDA graph and replayed.
`tf32` lets PyTorch use TF32; `bf16` is autocast with weights of single precision. Milliseconds are those of an epoch of 60,000 samples, the median of five.

    python3 docs/peers/mlp.py [--compile]

With `--compile` the network goes through `torch.compile` first. Needs a GPU and PyTorch.
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F

SAMPLES = 60_000
SETTINGS = [
    ([1024, 1024], 512, "bf16", "sgd"),
    ([1024, 1024], 512, "tf32", "sgd"),
    ([1024, 1024], 512, "f32", "sgd"),
    ([512, 512, 512], 128, "f32", "sgd"),
    ([512, 512, 512], 128, "bf16", "adam"),
    ([256], 64, "f32", "sgd"),
    ([256], 64, "f32", "adam"),
    ([64], 16, "f32", "sgd"),
    ([4096, 4096], 1024, "bf16", "sgd"),
    ([4096, 4096, 4096, 4096], 8192, "bf16", "adam"),
    ([2048, 2048], 4096, "tf32", "adam"),
    ([256], 8192, "f32", "sgd"),
    ([256], 8192, "tf32", "sgd"),
    ([256], 8192, "bf16", "sgd"),
]


def epoch_ms(hidden, batch, precision, optimizer, compiled):
    """Milliseconds of an epoch."""
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
        times.append((time.perf_counter() - start) * 1e3 * (SAMPLES / batch) / steps)
    return statistics.median(times[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    arguments = parser.parse_args()
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}")
    print("ms an epoch")
    for hidden, batch, precision, optimizer in SETTINGS:
        name = f"{'-'.join(map(str, hidden))}, batch {batch}, {precision}, {optimizer}"
        print(f"{epoch_ms(hidden, batch, precision, optimizer, arguments.compile):8.2f}  {name}", flush=True)


if __name__ == "__main__":
    main()
