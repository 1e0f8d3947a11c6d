"""Each promise of docs/reliability.md is one sentence, and names the test that holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.promises import problems, read

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
FINE = 'Rows stay, in `run.json` too. [test](../tests/test_a.py "test_rows_stay")'
SOURCE = '''
"""Tests of an example."""
import pytest

def test_rows_stay():
    assert True

@pytest.mark.skipif(not shutil.which("x"), reason="x is not here")
def test_where_there_is_x():
    assert True

@pytest.mark.skip(reason="never")
def test_never():
    assert True

@pytest.mark.xfail
def test_that_may_fail():
    assert True

def test_left_at_once():
    pytest.skip("later")

def helper():
    def test_within():
        assert True
'''


def test_every_promise_names_the_test_that_holds_it() -> None:
    assert not problems(PAGE)
    assert len(read(PAGE.read_text()).promises) > 50


def _of(tmp_path: Path, *lines: str) -> list[str]:
    """Return the problems of a page with these lines in its first section, from line 5 on."""
    for name in ("docs", "tests", "benchmarks"):
        (tmp_path / name).mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(SOURCE)
    (tmp_path / "tests" / "made.py").write_text(SOURCE)
    (tmp_path / "tests" / "test_b.py").write_text("pytestmark = [pytest.mark.skip]" + SOURCE)
    (tmp_path / "benchmarks" / "crash.py").write_text("")
    page = tmp_path / "docs" / "reliability.md"
    page.write_text("\n".join(["# A page", "What it is.", "| what | then |", "## Rows", *lines]))
    return problems(page)


def test_a_page_that_keeps_to_the_rules_has_no_problems(tmp_path: Path) -> None:
    measured = "A kill loses nothing. [benchmark](../benchmarks/crash.py)"
    there = '- With x it is so. [test](../tests/test_a.py "test_where_there_is_x")'
    exempt = ["## What is not promised", "### Power", "* It may go. Nobody knows when."]
    again = ["", "## More", f"* {FINE}"]
    assert not _of(
        tmp_path, f"* {FINE}", f"* {measured}", there,
        *exempt, *again,
    )  # fmt: skip


ALONE = "Rows stay."
A_TEST = "a promise must end with a link to the test that holds it"
ONE = "a promise must be one sentence with a full stop"
A_FILE = "a link must lead to a file"
TITLE = "the title of a link must be a test that pytest runs from ../tests/"
BULLETS = "in a section only bullets and headings may stand"
WRONG = {
    "no link": (f"* {ALONE}", f"{A_TEST}, got 'Rows stay.'"),
    "a link to something else": (
        "* Rows stay, as [the page](reliability.md) says.",
        f"{A_TEST}, got 'Rows stay, as [the page](reliability.md) says.'",
    ),
    "a link amid the sentence": (
        f"* Rows {FINE.partition('. ')[2]} stay.", f"{A_TEST}, got 'Rows [test](../tests/test_a.py",
    ),
    "no benchmark": (
        f"* {ALONE} [benchmark](reliability.md)", "a benchmark must be a file of ../benchmarks/",
    ),
    "two sentences": (f"* All is well. {FINE}", f"{ONE}, got 'All is well. Rows stay, in "),
    "two with a semicolon": (f"* All is well; {FINE}", f"{ONE}, got 'All is well; Rows stay"),
    "no full stop": (f"* {FINE.replace('too.', 'too')}", f"{ONE}, got "),
    "a missing file": (
        f"* {FINE.replace('test_a.py', 'test_gone.py')}", f"{A_FILE}, got '../tests/test_gone.py'",
    ),
    "no test of that file": (
        f"* {FINE.replace('test_rows', 'test_all_rows')}",
        f"{TITLE}test_a.py, got 'test_all_rows_stay'",
    ),
    "no title": (f"* {ALONE} [test](../tests/test_a.py)", f"{TITLE}test_a.py, got None"),
    "a file that pytest does not collect": (
        f"* {FINE.replace('test_a.py', 'made.py')}", f"{TITLE}made.py, got 'test_rows_stay'",
    ),
    "a file that is skipped": (
        f"* {FINE.replace('test_a.py', 'test_b.py')}", f"{TITLE}test_b.py, got 'test_rows_stay'",
    ),
    "prose": ("Rows stay for ever.", f"{BULLETS}, got 'Rows stay for ever.'"),
    "a table": ("| rows | stay |", f"{BULLETS}, got '| rows | stay |'"),
    "a second line": ("  and more of it.", f"{BULLETS}, got '  and more of it.'"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_breaks_a_rule_is_said_by_line_rule_and_what_was_given(
    name: str, tmp_path: Path
) -> None:
    line, problem = WRONG[name]
    (found,) = _of(tmp_path, line)
    assert found.startswith(f"docs/reliability.md:5: {problem}")


@pytest.mark.parametrize(
    "test", ["test_never", "test_that_may_fail", "test_left_at_once", "test_within", "helper"]
)
def test_a_test_that_never_runs_holds_nothing(test: str, tmp_path: Path) -> None:
    (found,) = _of(tmp_path, f"* {FINE.replace('test_rows_stay', test)}")
    assert found == f"docs/reliability.md:5: {TITLE}test_a.py, got '{test}'"
