"""The types in the stubs are those of the package, as mypy's stubtest finds them, and a user's program is checked by them."""

import os
import subprocess
import sys

from peers import peer

# Types for stubs alone, which nobody imports at run time.
ALLOWED = "warpplay._types\n"

PROGRAM = """
import numpy as np
from warpplay import Array
from warpplay.azero import Evaluator
from warpplay.mlp import Classifier, Network

network = Network([(np.zeros((4, 2), np.float32), np.zeros(2, np.float32))])
classifier = Classifier(network, device="cpu", threads=1)
images = np.zeros((3, 2, 2), np.uint8)
array = Evaluator(device="cpu").shape
reveal_type(classifier.predict_proba(images))
def shared(lent: Array) -> None:
    reveal_type(classifier.logits(lent))
    Network(layers=3)
"""


def mypy(tmp_path, *arguments):
    peer("mypy")
    environment = {**os.environ, "MYPY_CACHE_DIR": str(tmp_path / "cache"), "NO_COLOR": "1"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)


def test_the_stubs_say_what_the_package_has(tmp_path):
    (tmp_path / "allowed").write_text(ALLOWED)
    found = mypy(tmp_path, "mypy.stubtest", "warpplay", "--concise", "--allowlist", "allowed")
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_program_is_checked_by_the_stubs(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    found = mypy(tmp_path, "mypy", "--strict", "program.py").stdout
    assert 'Revealed type is "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.floating[' in found, found
    assert 'Revealed type is "warpplay.Array"' in found, found
    assert 'Argument "layers" to "Network" has incompatible type "int"' in found and "Found 1 error" in found, found
