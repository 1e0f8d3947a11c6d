"""What a page shows after a command is what the command prints."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.docs.pages import CHECKOUT, PAGES, agrees, session

LONG = ("docs/tutorial.md", "docs/probes.md", "docs/runs.md")
"""Pages whose commands take minutes."""
TOLD = [
    pytest.param(page, marks=[pytest.mark.slow] if name in LONG else [], id=name)
    for page, name in (
        (page, page.name if page.name == "README.md" else f"docs/{page.name}") for page in PAGES
    )
    if session(page)
]


@pytest.mark.parametrize("page", TOLD)
@pytest.mark.timeout(1800)
def test_its_commands_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    env = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "100", "NO_COLOR": "1"}
    for shown in session(page):
        done = subprocess.run(
            ["bash", "-c", shown.command], cwd=tmp_path, env=env, text=True, timeout=1500,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert agrees(shown.output, done.stdout), (
            f"{shown.where}: $ {shown.command}\n--- shown\n{shown.output}\n"
            f"--- printed\n{done.stdout}"
        )


def test_the_python_of_its_page_runs(tmp_path: Path) -> None:
    page = (CHECKOUT / "docs" / "python.md").read_text()
    (block,) = re.findall(r"^    import harness\n(?:    .*\n|\n)+", page, re.MULTILINE)
    shutil.copytree(CHECKOUT / "tests" / "golden" / "2026-11-22" / "sweep", tmp_path / "runs")
    script = textwrap.dedent(block) + "print(len(law.runs), len(runs.metrics()) > 0)\n"
    env = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout == "2 True\n", done.stderr
    assert (tmp_path / "results" / "law.json").is_file()
