"""The notebooks run from the first cell to the last, and are kept without what they found."""

import json
from pathlib import Path

import pytest

from peers import peer

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_is_one_a_family():
    assert [path.stem for path in NOTEBOOKS] == ["azero", "cfr", "mcts", "mlp", "shogi"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, monkeypatch):
    matplotlib = peer("matplotlib")
    matplotlib.use("Agg")
    pyplot = peer("matplotlib.pyplot")
    monkeypatch.chdir(path.parent)
    names, figures = {}, 0
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, f"cell {number} is kept with what it found"
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)
            figures += len(pyplot.get_fignums())
            for figure in map(pyplot.figure, pyplot.get_fignums()):
                assert any(axis.has_data() for axis in figure.axes), f"cell {number} has an empty plot"
            pyplot.close("all")
    assert figures >= 2
