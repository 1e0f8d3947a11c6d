"""What holds of the code as a whole: what an import costs, how long things are."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "harness"
HEAVY = ("hydra", "omegaconf", "torch", "pandas", "numpy", "rich", "scipy", "matplotlib", "trl")
LONGEST_FILE, LONGEST_FUNCTION = 350, 60


def imported_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_the_command_line_imports_nothing_heavy():
    assert not imported_by("import harness.cli") & set(HEAVY)


def test_planning_does_not_pay_for_readers_or_trainers():
    found = imported_by("from harness import launch")
    assert not found & {"torch", "pandas", "numpy", "matplotlib", "scipy", "trl", "rich"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_files_and_functions_stay_short(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, node.name
