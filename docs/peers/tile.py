#!/usr/bin/env python3
"""Times cuBLAS, called by PyTorch, on the products of our bench, beside it:

    cargo bench -p warpplay --bench tile -- --device cuda --peer "python3 docs/peers/tile.py"

Operands lie as ours do (both along the depth); the product alone is timed, without bias and rectifier. `f32` is single precision without tensor cores; `e4m3` adds sums up in single precision (`use_fast_accum=False`), as ours does.
A CUDA graph holds 20 products. Needs a GPU and PyTorch.
"""

import time

import torch

from serve import serve

REPEATS = 20
SECONDS = 0.1
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "tf32": torch.float32, "f32": torch.float32, "e4m3": torch.float8_e4m3fn}


def seconds(setting):
    """Seconds of one product."""
    m, n, k, precision = (setting[name] for name in ("m", "n", "k", "precision"))
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    a, b = ((torch.rand(lines, k, device="cuda") * 2 - 1).to(TYPES[precision]) for lines in (m, n))
    c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16 if precision == "e4m3" else TYPES[precision])
    one = torch.ones((), device="cuda")

    def multiply():
        if precision == "e4m3":
            torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=c.dtype, use_fast_accum=False, out=c)
        else:
            torch.mm(a, b.t(), out=c)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            multiply()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(REPEATS):
            multiply()
    graph.replay()
    torch.cuda.synchronize()
    start, replays = time.perf_counter(), 0
    while replays == 0 or time.perf_counter() - start < SECONDS:
        graph.replay()
        torch.cuda.synchronize()
        replays += 1
    return (time.perf_counter() - start) / replays / REPEATS


if __name__ == "__main__":
    serve(f"cuBLAS {torch.version.cuda}", seconds)
