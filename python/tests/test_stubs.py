"""The types in the stubs are those of the package, as mypy's stubtest finds them, and a user's program is checked by them."""

import os
import re
import subprocess
import sys

from peers import peer

# Types for stubs alone, which nobody imports at run time.
ALLOWED = "warpplay._options\nwarpplay._types\n"

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

# Options: a line whose comment begins with `error` has it, and no other has any.
OPTIONS = """
from pathlib import Path
from typing import TYPE_CHECKING
import numpy as np
from warpplay import azero, cfr, mcts, mlp, shogi

if TYPE_CHECKING:
    from warpplay._options import MlpOptions

mcts.Search("gomoku", steps=np.int64(5), seconds=None, variant="ocp_thrifty", ucb_c=np.float32(1), draw_value=1)
mcts.Search(step=5)  # error: Unexpected keyword argument "step"
mcts.Search(steps="5")  # error: Argument "steps" to "Search" has incompatible type "str"
mcts.Search("chess")  # error: Argument 1 to "Search" has incompatible type
mcts.Search(variant="acp")  # error: Argument "variant" to "Search" has incompatible type
mcts.Search(n_trees=None)  # error: Argument "n_trees" to "Search" has incompatible type "None"

azero.Evaluator(precision="tf32", threads=1, seed=3).observe("a3b4")
azero.Evaluator(precision="i16")  # error: Argument "precision" to "Evaluator" has incompatible type
azero.SelfPlay(games=2, search={"noise": None, "trees": "host"}, seed=np.uint32(1))
azero.SelfPlay(search={"noise": {"alpha": 0.3}})
azero.SelfPlay(search={"noise": {"beta": 0.3}})  # error: "noise"
azero.SelfPlay(search={"moves": 3})  # error: Extra key "moves" for TypedDict "AzeroSearchOptions"
azero.Trainer("games", steps=None, engine="device")
azero.Trainer("games", engine="fused")  # error: Argument "engine" to "Trainer" has incompatible type
azero.observe(layout=azero.Evaluator().layout)
azero.observe(layout="new")  # error: Argument "layout" to "observe" has incompatible type

images, labels = np.zeros((3, 2, 2), np.uint8), np.zeros(3, np.uint8)
sizes = [3, 4]
given: "MlpOptions" = {"hidden": sizes, "optimizer": "adamw", "schedule": {"name": "step", "every": 2}}
trainer = mlp.Trainer(images, labels, **given)
mlp.Trainer(images, labels, **trainer.options)
mlp.Trainer(images, labels.astype(np.int64))
mlp.Trainer(images, labels, hidden=(3, np.int32(4)), optimizer={"name": "adam", "beta1": 0.5}, early_stopping={"patience": 3})
mlp.Trainer(images, labels, optimizer="adm")  # error: Argument "optimizer" to "Trainer" has incompatible type
mlp.Trainer(images, labels, optimizer={"name": "adam", "momentum": 0.5})  # error: Argument "optimizer" to "Trainer" has incompatible type
mlp.Trainer(images, labels, early_stopping={"min_delta": 0.1})  # error: Argument "early_stopping" to "Trainer" has incompatible type
mlp.Trainer(images, labels, hidden=3)  # error: Argument "hidden" to "Trainer" has incompatible type "int"
mlp.Classifier(trainer.network(), threads=1, evaluate_batch=3)
mlp.Classifier(trainer.network(), batches=3)  # error: Unexpected keyword argument "batches" for "Classifier"
conv = mlp.ConvTrainer(images, labels, blocks=[[8], (np.int32(8),)], batch=2, device="cpu", threads=None)
mlp.ConvTrainer(images, labels, blocks=[8])  # error: List item 0 has incompatible type "int"
mlp.ConvClassifier(conv.network(), threads=1, hidden=[3])  # error: Unexpected keyword argument "hidden" for "ConvClassifier"
mlp.PerceptronClassifier(device="cpu", hidden=[3]).set_params(device="cpu", epochs=3)
mlp.PerceptronClassifier(depth=3)  # error: Unexpected keyword argument "depth" for "PerceptronClassifier"
mlp.PerceptronClassifier().set_params(held_out="x")  # error: Argument "held_out" to "set_params" of "PerceptronClassifier"

shogi.Learner(Path("games"), plies=range(40, 80), held_out=0.1, keep_scale=np.True_, init=[3.0] * 12, quiet={"every": 1})
shogi.Learner("games", keep_scale=1)  # error: Argument "keep_scale" to "Learner" has incompatible type "int"
shogi.Learner("games", quiet={"depth": 1})  # error: Argument "quiet" to "Learner" has incompatible type
shogi.Evaluator("kpq", np.zeros(3, np.float32))  # error: Argument 1 to "Evaluator" has incompatible type

cfr.Solver("kuhn", algorithm="dcfr", discounts=(1.5, 0, 2), isomorphism=np.False_, measure_at=range(1, 3))
cfr.Solver("kuhn", precision="tf32")  # error: Argument "precision" to "Solver" has incompatible type
cfr.solve_spot({"pot": 3}, iterations=3, progress=lambda told: False)
cfr.solve_spot({"pot": 3}, iteration=3)  # error: Unexpected keyword argument "iteration" for "solve_spot"
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


def test_options_are_checked_by_the_stubs(tmp_path):
    (tmp_path / "options.py").write_text(OPTIONS)
    text = mypy(tmp_path, "mypy", "--strict", "options.py").stdout
    found = {int(line): error for line, error in re.findall(r"^options.py:(\d+): error: (.*)", text, re.M)}
    lines = enumerate(OPTIONS.splitlines(), 1)
    expected = {number: line.split("# error: ")[1] for number, line in lines if "# error: " in line}
    assert set(found) == set(expected), text
    assert all(error in found[number] for number, error in expected.items()), text
