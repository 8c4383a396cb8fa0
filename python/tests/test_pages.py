"""The examples of the pages run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def blocks():
    """The Python of the pages."""
    for page in ("README.md", "python/README.md"):
        found = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
        assert found, page
        for number, code in enumerate(found):
            yield pytest.param(code, id=f"{page} {number}")


@pytest.mark.parametrize("code", list(blocks()))
def test_an_example_runs(code):
    exec(compile(code, "example", "exec"), {})
