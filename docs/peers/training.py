"""A training of PyTorch as a CUDA graph, timed in epochs; what the peers of trainings have in common."""

import argparse
import statistics
import time

import torch

from serve import serve


def recorded(step, position):
    """A CUDA graph of one step, which moves `position` on; it ends at 0."""
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
    return graph


def seconds_of_step(step, steps, order, position, epochs):
    """Seconds of a step of `epochs` epochs of `steps` steps, the median; an epoch draws its order anew, and one more comes before."""
    graph = recorded(step, position)
    times = []
    for _ in range(epochs + 1):
        position.zero_()
        torch.cuda.synchronize()
        start = time.perf_counter()
        order.copy_(torch.randperm(len(order), device="cuda"))
        for _ in range(steps):
            graph.replay()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / steps)
    return statistics.median(times[1:])


def main(doc, seconds):
    """Serves `seconds(setting, compiled)`, with the flag that all have."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    compiled = parser.parse_args().compile
    how = "torch.compile" if compiled else "graph"

    def fresh(setting):
        torch.manual_seed(1)
        # Else the networks of earlier settings count among this one's compilations.
        torch.compiler.reset()
        return seconds(setting, compiled)

    serve(f"PyTorch {torch.__version__.split('+')[0]}, {how}", fresh)
