"""Other programs that the tests compare with: skipped where they are absent, unless they are demanded."""

import importlib
import os

import pytest


def peer(module):
    """A module of the other program. `WARPPLAY_REQUIRE_PEERS` lists those whose absence is a failure."""
    if module.split(".")[0] in os.environ.get("WARPPLAY_REQUIRE_PEERS", "").split(","):
        return importlib.import_module(module)
    flags = {"torch": "--peers --torch", "cupy": "--peers --cuda"}.get(module, "--peers")
    return pytest.importorskip(module, reason=f"{module.split('.')[0]} is not installed: cargo xtask wheel --test {flags}")
