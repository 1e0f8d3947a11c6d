"""harness.register: extensions of this process, for notebooks and tests."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import harness
from harness.errors import ConfigError, PlugInError
from harness.law.io import reading
from harness.law.io.importers.rows import Importer, Rows
from harness.report.figures import canvas
from harness.report.figures import registry as figures
from harness.report.figures.canvas import Drawing
from harness.report.figures.figure_specs import FigureSpec, Subject
from harness.report.tables import result_files
from harness.simulator import factory
from harness.train.objective import registry as objectives
from harness.train.rollout import rewards
from harness.utils import extensions

pytestmark = pytest.mark.usefixtures("installed")


def select(subject: Subject) -> Iterator[tuple[str, list[str]]]:
    yield "", [run.run for run in subject.analysis.runs]


def draw(runs: list[str], name: str) -> Drawing:
    grid = canvas.grid("Runs", [""], 1, 2.0)
    return Drawing(name, grid.figure, ("run",), tuple({"run": run} for run in runs))


def fail(runs: list[str], name: str) -> Drawing:
    raise ZeroDivisionError("of mine")


def rows(data: bytes) -> Rows:
    values = [float(text) for text in data.split()]
    parsed = [{"step": n, "entropy": 2 / n, "reward": v} for n, v in enumerate(values, 1)]
    return Rows(parsed, [1] * len(parsed), {}, "must hold numbers", scattered=False)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    lines = [{"step": n, "entropy": 2 / n, "reward": 1 - 1 / n} for n in range(1, 31)]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_figure_is_drawn_and_saved_after_ours(log: Path, tmp_path: Path) -> None:
    harness.register.figure("mine", FigureSpec("mine", "Runs.", select, draw))
    law = harness.fit(log)
    assert law.plot("mine").get_suptitle() == "Runs"
    written = [path.name for path in law.save(tmp_path / "law")]
    assert written[-3:] == ["mine.png", "mine.svg", "mine.csv"]
    assert "entropy_law.png" in written


def test_a_figure_that_raises_is_named_and_loses_no_other(log: Path, tmp_path: Path) -> None:
    harness.register.figure("mine", FigureSpec("mine", "Runs.", select, fail))
    law = harness.fit(log)
    with pytest.raises(PlugInError) as caught:
        law.save(tmp_path / "law")
    assert str(caught.value).startswith(
        "figure mine of this process: must be drawn, got ZeroDivisionError: of mine "
        "(test_register.py:"
    )
    assert {"law.json", "entropy_law.png", "residuals.csv"} <= {
        path.name for path in (tmp_path / "law").iterdir()
    }
    assert law.plot("entropy_law")
    with pytest.raises(PlugInError, match="of mine"):
        law.plot("mine")


def test_an_importer_reads_logs(tmp_path: Path) -> None:
    takes = Importer(lambda name, data: name.endswith(".numbers"), rows)
    harness.register.importer("numbers", takes)
    (tmp_path / "a.numbers").write_text(" ".join(str(1 - 1 / n) for n in range(1, 31)))
    frame = harness.load(tmp_path / "a.numbers").metrics()
    assert frame["reward"].tolist() == [1 - 1 / n for n in range(1, 31)]


def test_every_kind_can_be_registered_under_a_plain_name_once() -> None:
    for kind in extensions.KINDS:
        add = getattr(harness.register, kind)
        assert add.__doc__
        add("mine", object)
        assert extensions.names(kind) == ("mine",)
        with pytest.raises(ConfigError, match=f"{kind} 'mine' must be registered once"):
            add("mine", object)
        with pytest.raises(ConfigError, match=rf"harness\.register\.{kind}: a name must be small"):
            add("Mine/", object)


def test_the_names_of_harness_itself_are_those_of_its_parts() -> None:
    ours = {kind: set(harness.register.our_names(kind)) for kind in extensions.KINDS}
    assert ours == {
        "algorithm": set(objectives.algorithm_names()),
        "remedy": set(objectives.remedy_names()),
        "reward": set(rewards.OURS),
        "simulator": set(factory.OURS),
        "importer": set(reading.OURS),
        "figure": {*result_files.TABLES, *(figure.name for figure in figures.FIGURES)},
    }
    assert all(ours.values())


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("algorithm", "grpo"),
        ("remedy", "gppo"),
        ("reward", "terminal"),
        ("simulator", "scripted"),
        ("importer", "csv"),
        ("figure", "law"),
    ],
)
def test_a_name_of_harness_itself_cannot_be_registered(kind: str, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        getattr(harness.register, kind)(name, object)
    ours = ", ".join(harness.register.our_names(kind))
    assert str(caught.value) == (
        f"harness.register.{kind}: a name must be none of harness's own, {ours}, got {name!r}"
    )
    assert extensions.names(kind) == ()


def test_nothing_heavy_is_imported_to_compare_names() -> None:
    code = (
        "import sys, harness; harness.register.our_names('remedy');"
        "print({'numpy', 'torch', 'pandas', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
