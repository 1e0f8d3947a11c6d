"""The runs of the demo as they are planned, and what is said of runs whose regime is known."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import demo as command
from harness.demo import folder, outcome
from harness.demo.constructions import COMMON, CONSTRUCTIONS, Construction
from harness.demo.outcome import DemoResult
from harness.errors import ConfigError, DataError
from harness.law import analysis, reasons
from harness.law.group_results import Analysis
from harness.law.results import REGIMES, Interval
from harness.records import sweep_file
from harness.records.sweep_file import LedgerRow, Sweep
from harness.report import write
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW

KNOWN = {
    "learns": synthetic.lawful(1, 200, LOW, synthetic.exponential(0.6)),
    "collapses": synthetic.kink(1, 300, LOW),
    "explodes": synthetic.explode(1, 300, LOW),
}
SHORT = ("policy=tabular", "trainer.steps=3", "trainer.conversations=8", "eval.users=4")


def construction(name: str) -> Construction:
    return next(one for one in CONSTRUCTIONS if one.name == name)


def short(name: str, *more: str) -> Construction:
    """A run of moments, too short to tell anything of."""
    return Construction(name, "a test", (*SHORT, "eval.levels=[]", *more), ("learning",))


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sweep, Analysis]:
    root = tmp_path_factory.mktemp("demo")
    for name, log in KNOWN.items():
        run_folders.write_run(root / name, synthetic.rows(log), level=name)
    rows = [LedgerRow(name, str(root / name), (), "done") for name in KNOWN]
    return Sweep(str(root), {}, rows), analysis.analyse([root])


def judged(known: tuple[Sweep, Analysis]) -> dict[str, DemoResult]:
    shown = outcome.judge_runs([construction(name) for name in KNOWN], *known)
    return {one.construction.name: one for one in shown}


def test_every_reason_of_a_verdict_is_told_in_plain_words(known: tuple[Sweep, Analysis]) -> None:
    assert outcome.REASONS.keys() == reasons.REASONS.keys()
    assert not any("_" in words for words in outcome.REASONS.values())
    one = judged(known)["learns"]
    assert one.result is not None
    share = Interval(1.85, 0.44, 3.96)
    unsure = replace(
        one.result, verdict="undetermined", reasons=["identification_range"], null_share=share
    )
    said = " ".join(" ".join(outcome.lines([replace(one, result=unsure)], 80)).split())
    assert "law undetermined (a slope of 0 is not ruled out)" in said
    assert "with shuffled advantages H falls 185% [44%, 396%] as far" in said


def test_each_run_can_be_planned_and_no_two_are_one() -> None:
    points = {one.name: one.point() for one in CONSTRUCTIONS}
    assert len({repr(point.config) for point in points.values()}) == len(CONSTRUCTIONS) == 5
    assert points["null_control"].config == replace(
        points["learns"].config,
        algorithm=replace(points["learns"].config.algorithm, null_control=True),
    )
    for one in CONSTRUCTIONS:
        assert set(one.regimes) <= set(REGIMES)
        assert points[one.name].config.policy.kind == "tabular"


def test_a_word_of_its_own_takes_the_place_of_the_common_one() -> None:
    words = construction("collapses").words
    keys = [word.split("=")[0] for word in words]
    assert len(keys) == len(set(keys))
    assert "trainer.conversations=16" in words
    assert "trainer.conversations=32" in COMMON


def test_runs_of_known_regimes_are_as_constructed(known: tuple[Sweep, Analysis]) -> None:
    shown = judged(known)
    assert {name: one.as_constructed for name, one in shown.items()} == dict.fromkeys(KNOWN, True)
    collapse = shown["collapses"].to_json()
    assert collapse["regime"] == "collapsed"
    assert collapse["onset"]["low"] <= collapse["onset"]["step"] <= collapse["onset"]["high"]


def test_a_run_of_another_regime_is_said_to_be_one(known: tuple[Sweep, Analysis]) -> None:
    ledger, analysed = known
    other = replace(construction("learns"), regimes=("starved",))
    (shown,) = outcome.judge_runs([other], ledger, analysed)
    assert not shown.as_constructed
    assert "learning (made to be starved)" in " ".join(" ".join(outcome.lines([shown], 80)).split())


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_lines_keep_within_the_terminal(known: tuple[Sweep, Analysis], width: int) -> None:
    lines = list(outcome.lines(list(judged(known).values()), width))
    longest_word = max(len(word) for one in CONSTRUCTIONS for word in one.words)
    assert max(map(len, lines)) <= max(width, longest_word + 4)
    shared = [word for word in COMMON if word != "trainer.conversations=32"]
    assert " ".join(lines[-2:]).split()[-len(shared) :] == shared


def test_the_words_of_a_run_and_those_of_all_make_that_run(known: tuple[Sweep, Analysis]) -> None:
    shown = list(judged(known).values())
    said, _, shared = " ".join(" ".join(outcome.lines(shown, 100)).split()).rpartition(" all: ")
    for one in (result.construction for result in shown):
        own = said.partition(f"{one.name}: {one.because} ")[2].partition(" ->")[0]
        assert sorted([*own.split(), *shared.split()]) == sorted(one.words)


def test_the_picture_has_a_panel_a_run_and_its_numbers_beside_it(
    known: tuple[Sweep, Analysis], tmp_path: Path
) -> None:
    shown = list(judged(known).values())
    picture = write.write_demo(outcome.panels(shown, known[1]), tmp_path)
    first = picture.read_bytes()
    assert first.startswith(b"\x89PNG")
    with (tmp_path / "demo.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["run"] for row in rows} == set(KNOWN)
    (onset,) = [row for row in rows if row["kind"] == "terminal_fall"]
    found = known[1].runs
    expected = next(run.onset for run in found if Path(run.run).name == "collapses")
    assert expected is not None
    assert float(onset["low"]) == pytest.approx(expected.low)
    assert write.write_demo(outcome.panels(shown, known[1]), tmp_path).read_bytes() == first


def test_a_run_without_rows_has_no_panel_and_says_so(known: tuple[Sweep, Analysis]) -> None:
    ledger, analysed = known
    failed = replace(ledger, runs=[*ledger.runs, LedgerRow("starves", None, (), "failed")])
    shown = outcome.judge_runs([construction("starves")], failed, analysed)
    assert outcome.panels(shown, analysed) == []
    assert "-> failed: not judged" in " ".join(outcome.lines(shown, 80))


def test_the_command_runs_judges_and_repeats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = (short("one"), short("two", "algorithm.null_control=true"))
    root = tmp_path / "demo"
    assert command.demo(root, as_json=True, constructions=runs) == 3
    told = json.loads(capsys.readouterr().out)
    assert [(run["status"], run["as_constructed"]) for run in told["runs"]] == [("done", False)] * 2
    assert Path(told["figure"]).is_file()
    before = {path: path.stat().st_mtime_ns for path in root.rglob("metrics.jsonl")}
    assert command.demo(root, as_json=False, constructions=runs) == 3
    assert "too short to tell" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in root.rglob("metrics.jsonl")} == before
    with pytest.raises(ConfigError, match="has runs other than those of this version's demo"):
        command.demo(root, as_json=False, constructions=(short("one"), short("three")))
    (root / sweep_file.FILE).unlink()
    changed = (short("one", "seed=2"), short("two", "algorithm.null_control=true"))
    with pytest.raises(ConfigError, match="its run one was made with other settings"):
        command.demo(root, as_json=False, constructions=changed)


@pytest.mark.parametrize("what", ["a file", "a folder with files", "a link"])
def test_a_folder_of_others_is_refused_and_left_alone(tmp_path: Path, what: str) -> None:
    root = tmp_path / "demo"
    if what == "a file":
        root.write_text("mine")
    elif what == "a link":
        (tmp_path / "elsewhere").mkdir()
        root.symlink_to("elsewhere")
    else:
        root.mkdir()
        (root / "mine.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((ConfigError, DataError), match="demo"):
        command.demo(root, as_json=False, constructions=(short("one"),))
    assert sorted(tmp_path.rglob("*")) == before


def test_its_folder_is_in_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder.default() == tmp_path.resolve() / "runs" / "demo"
