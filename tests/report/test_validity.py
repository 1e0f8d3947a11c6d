"""What reports say of the validity of users."""

import io
import json
import re
from pathlib import Path

from rich.console import Console

from harness.law import analysis
from harness.law.law_json import from_analysis
from harness.records.validity import LevelValidity
from harness.report.tables import csv_files, validity
from harness.report.tables.summary import print_analysis
from harness.testing import run_folders, synthetic

DEAF = LevelValidity(
    "lexical",
    {"kind_minus_cruel": {"value": 30, "low": 25, "high": 35}, "cruel_heard": None,
     "gibberish_rises": {"value": 0.01, "low": 0.0, "high": 0.02}},
    ("the user hears none of cruel replies as hurtful",),
)  # fmt: skip
GOOD = LevelValidity("lexical", DEAF.measured)


def printed(levels: dict[str, LevelValidity], unknown: int = 0, **how: bool) -> str:
    stream = io.StringIO()
    validity.print_validity(levels, unknown, Console(file=stream, width=100), **how)
    return stream.getvalue()


def test_one_sentence_says_whether_the_levels_are_valid_and_a_table_what_was_measured() -> None:
    text = printed({"easy": GOOD, "hard": DEAF})
    assert text.splitlines()[0] == (
        "users not valid, so R is no reward for empathy: hard (the user hears none of cruel "
        "replies as hurtful)"
    )
    rows = {name: cells for name, *cells in (re.split(" {2,}", x) for x in text.splitlines())}
    assert rows["heard by"][:2] == ["lexical", "lexical"]
    assert rows["kind minus cruel, six replies"][:2] == ["30.0 [25.0, 35.0]"] * 2
    assert rows["P(rise) after gibberish"][:2] == ["0.01 [0.00, 0.02]"] * 2
    assert "cruel replies heard as hurtful" not in rows
    assert printed({"easy": GOOD}).startswith("users valid: easy\n")


def test_a_study_shows_the_measures_of_levels_that_are_not_valid_alone() -> None:
    assert printed({"easy": GOOD}, all_measures=False) == "users valid: easy\n"
    heading = printed({"easy": GOOD, "hard": DEAF}, all_measures=False).splitlines()[1]
    assert heading.split() == ["validity", "of", "users", "[95%]", "hard"]


def test_users_whom_nobody_measured_are_no_table() -> None:
    assert printed({}, unknown=2) == "validity of users not recorded in 2 runs\n"
    assert printed({}) == ""


def runs(root: Path, invalid: bool) -> Path:
    """Two levels of two seeds each, whose run.json say how valid their users are."""
    for level in ("easy", "hard"):
        for seed in (1, 2):
            folder = root / f"{level}-{seed}"
            run_folders.write_run(folder, synthetic.lawful_rows(seed), seed, level)
            status = json.loads((folder / "run.json").read_text())
            one = DEAF if invalid and level == "hard" else GOOD
            plain = {"reader": one.reader, "measured": one.measured, "problems": one.problems}
            (folder / "run.json").write_text(json.dumps(status | {"validity": {level: plain}}))
    return root


def test_every_verdict_on_users_who_are_not_valid_says_so(tmp_path: Path) -> None:
    found = analysis.analyse([runs(tmp_path, invalid=True)])
    said = {run.level: "invalid_users" in (run.reasons or ()) for run in found.runs}
    assert said == {"easy": False, "hard": True}
    values = from_analysis(found)
    marked = [c["invalid_users"] for group in values["groups"] for c in group["contrasts"]]
    assert marked
    assert set(marked) == {2}
    assert values["runs"][0]["validity"]["easy"]["problems"] == []
    assert ",2\n" in csv_files.contrasts_csv(found)
    stream = io.StringIO()
    print_analysis(found, Console(file=stream, width=300), True)
    text = stream.getvalue()
    assert ", users not valid in both runs" in text
    assert "caution: users not valid in 2 of the runs" in text
    assert "invalid users: the users are not shown to recognise kindness" in text


def test_nothing_is_said_against_valid_users(tmp_path: Path) -> None:
    found = analysis.analyse([runs(tmp_path, invalid=False)])
    stream = io.StringIO()
    print_analysis(found, Console(file=stream, width=300), True)
    assert "users valid: easy, hard" in stream.getvalue()
    assert "not valid" not in stream.getvalue()
    assert not any("invalid_users" in (run.reasons or ()) for run in found.runs)
