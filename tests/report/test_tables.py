"""What a person reads on the terminal."""

from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console

from harness.law.group_results import Analysis, GroupResult, SeedMean
from harness.law.io.importers import json_lines
from harness.law.result_parts import SkippedPath
from harness.law.results import Identifiability, Onset
from harness.report.tables.summary import print_analysis
from harness.report.text import dropped_rows, findings, naming
from harness.testing.payloads import PAYLOADS
from harness.utils.safe_text import escape
from tests.report import made
from tests.report.made_tables import printed

GOLDEN = """\
run             a            b            ceiling      regime     verdict
--------------------------------------------------------------------------------
easy
0-easy-seed1    0.30         1.10         0.80         learning   holds
n = 60          [0.29, 0.31] [1.09, 1.11] [0.79, 0.81] no onset
1-easy-seed2    0.30         1.10         0.80         collapsed  holds until
n = 60          [0.29, 0.31] [1.09, 1.11] [0.79, 0.81] onset 40   the onset
                                                       [35, 45]   law break
mean of 2       0.30                      0.80         onset 40
                [0.28, 0.32]              [0.75, 0.85] none in 1

hard
2-hard-seed1    0.02 ?       0.42 ?       0.40 ?       drifting   undetermined
n = 60          [-0.38,      [-0.18,      [0.00, 0.80] no onset   identification
                0.42]        1.02]                                range
law: R = -a exp(H) + b; ceiling: b - a, the reward at H = 0; n: rows used
[low, high]: 95% interval; ?: not identified, too uncertain to quote
onset: step at which H collapses; verdict: whether R follows exp(H)
R: reward in column reward
validity of users not recorded in 3 runs
1 run could not be read:
  runs/3/metrics.jsonl: must hold one JSON object a line, but is empty (empty_input)
3 rows left out:
  1-easy-seed2: 2 nan, 1 torn last line
1 path skipped:
  runs/4: repeat
easy: ceiling 0.80 [0.75, 0.85], law holds in 1, law holds until the onset in 1; \
collapse from step 40 in 1, no onset in 1.
hard: ceiling not identified, law undetermined; no onset.
1 of 3 runs undetermined:
"""


def test_a_long_name_is_broken_between_its_parts() -> None:
    analysis = made.analysis([made.fitted("runs/12-guarded-seed1-null_controlFalse")])
    column = [line[:15].rstrip() for line in printed(analysis).splitlines()]
    at = column.index("12-guarded-")
    assert column[at : at + 4] == ["12-guarded-", "seed1-null_", "controlFalse", "n = 60"]


def study() -> Analysis:
    """Two seeds of easy, one of which falls; hard, undetermined; a file without rows; a repeat."""
    fallen = made.fitted(
        "runs/1-easy-seed2", seed=2, onset=Onset("terminal_fall", 40, 35, 45),
        verdict="holds_until_onset", reasons=["law_break"], regime="collapsed",
    )  # fmt: skip
    fallen = (dataclasses.replace(fallen[0], dropped={"nan": 2, "torn_last_line": 1}), fallen[1])
    onset = SeedMean(40, None, None, 1, 1)
    ceiling = SeedMean(0.8, 0.75, 0.85, 2, 0)
    easy = ["runs/0-easy-seed1", "runs/1-easy-seed2"]
    gain = SeedMean(None, None, None, 0, 2)
    slope = SeedMean(0.3, 0.28, 0.32, 2, 0)
    return made.analysis(
        [
            made.fitted(easy[0]),
            fallen,
            made.fitted("runs/2-hard-seed1", "hard", a=0.02, ceiling=0.4, identified=False),
        ],
        [made.unread("runs/3", f"runs/3/metrics.jsonl: {json_lines.RULE}, but is empty")],
        [GroupResult({"difficulty": "easy"}, easy, slope, ceiling, onset, gain)],
        [SkippedPath("runs/4", "repeat")],
    )  # fmt: skip


def test_the_whole_output_at_the_width_of_a_plain_terminal() -> None:
    text = printed(study())
    assert text.startswith(GOLDEN)
    assert "H moves too little" in text[len(GOLDEN) :]


def test_a_plain_terminal_is_wide_enough_for_every_line_of_the_table() -> None:
    table = printed(study()).split("law: R = ")[0]
    assert max(map(len, table.splitlines())) <= 80


def test_an_undetermined_run_says_why_and_what_would_decide() -> None:
    text = printed(study())
    assert "hard: ceiling not identified, law undetermined; no onset." in text
    assert "More steps would decide, if H falls further" in text.split("undetermined:")[-1]


def test_explain_says_how_each_number_was_got() -> None:
    text = printed(study(), explain=True)
    assert "60 rows with H from 'entropy' and R from 'reward'" in text
    assert "after leaving out 2 nan, 1 torn last line, equivalent to 30 independent rows." in text
    assert "a = 0.30 [0.29, 0.31], b = 1.10 [1.09, 1.11]." in text
    assert "Plain least squares gives a = 0.27, b = 1.10 (R2 0.80)" in text
    assert "Onset: collapse from step 40 [35, 45], where log H bends" in text
    assert (
        "law break: after some step the reward deviates from what the law predicts from H" in text
    )
    assert "Regime learning: R ended above its start" in text


def test_a_run_whose_numbers_nobody_could_compute_is_a_row_of_dashes() -> None:
    run, series = made.fitted(
        "runs/0", verdict="undetermined", reasons=["too_few_steps"],
        regime=None, n_eff=None, gain=None, ols=None,
    )  # fmt: skip
    run = dataclasses.replace(
        run, a=None, b=None, ceiling=None, identified=Identifiability(a=False, ceiling=False)
    )
    text = printed(made.analysis([(run, series)]), explain=True)
    assert text.splitlines()[3].split() == ["0", "-", "-", "-", "unknown", "undetermined"]
    assert "No law was fitted" in text
    assert "None" not in text
    assert "nan" not in text


def test_a_level_of_many_runs_shows_some_and_says_where_the_others_are() -> None:
    runs = [made.fitted(f"runs/run-{n:04d}", seed=n) for n in range(1044)]
    text = printed(made.analysis(runs))
    assert [text.count(f"run-{n:04d}") for n in (0, 39, 40, 1043)] == [1, 1, 0, 0]
    assert "1,004 more" in text
    assert "in law.csv" in text


def test_a_mean_says_what_its_runs_share_beside_the_heading() -> None:
    runs = [made.fitted(f"runs/{n}", seed=n) for n in range(4)]
    mean = SeedMean(0.3, 0.2, 0.4, 2, 0)
    groups = [
        GroupResult({"difficulty": "easy", "rate": rate}, names, mean, mean, mean, mean)
        for rate, names in ((1, ["runs/0", "runs/1"]), (2, ["runs/2", "runs/3"]))
    ]
    lines = printed(made.analysis(runs, [], groups)).splitlines()
    told = [lines[n + 1].split()[0] for n, line in enumerate(lines) if line.startswith("mean of 2")]
    assert told == ["rate=1", "rate=2"]


def test_nothing_readable_prints_no_table_and_every_reason() -> None:
    failed = [made.unread(f"runs/{i}", f"runs/{i}: why {i}", "missing_file") for i in range(3)]
    assert printed(made.analysis([], failed)).splitlines() == [
        "3 runs could not be read:",
        *(f"  runs/{i}: why {i} (missing_file)" for i in range(3)),
    ]


def test_runs_of_several_sweeps_are_all_named_with_their_sweep_where_two_names_clash() -> None:
    paths = ["r/one/0-easy", "r/one/1-hard", "r/two/0-easy", "r/two/2-hard"]
    assert list(naming.short_names(paths).values()) == [path[2:] for path in paths]
    assert list(naming.short_names(paths[1:]).values()) == ["1-hard", "0-easy", "2-hard"]
    assert naming.short_names(["/r/a", "r/a"]) == {"/r/a": "/r/a", "r/a": "r/a"}


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_names_levels_and_messages_are_shown_and_do_nothing(payload: str) -> None:
    analysis = made.analysis(
        [made.fitted(payload, level=payload, seed=None)],
        [made.unread(payload, payload, payload)],
        skipped=[SkippedPath(payload, payload)],
    )
    stream = io.StringIO()
    print_analysis(analysis, Console(file=stream, width=500), explained=True)
    text = stream.getvalue()
    assert all(escape(line) == line for line in text.split("\n"))
    assert text.count(escape(payload)) >= 5


def test_ceilings_are_ranged_as_numbers_and_equal_ends_said_once() -> None:
    fall = Onset("terminal_fall", 346, 340, 351)
    ceilings = (9.5, 10.5, 10.2)
    runs = [made.fitted(f"r/{c}", seed=None, ceiling=c, onset=fall)[0] for c in ceilings]
    analysis = made.analysis([made.fitted("r/0")])
    assert "ceiling 9.50 to 10.50" in findings.law_finding(analysis, runs)
    assert findings.onset_finding(analysis, runs) == "collapse from step 346 in all 3 runs"


@pytest.mark.parametrize(
    ("regimes", "finding"),
    [
        ((None,), "too short for an onset"),
        ((None, None), "too short for an onset in both runs"),
        (("learning", None), "no onset in 1, too short for an onset in 1"),
        (("learning", "learning"), "no onset in any run"),
    ],
)
def test_of_a_run_too_short_to_look_for_an_onset_none_is_denied(
    regimes: tuple[str | None, ...], finding: str
) -> None:
    runs = [
        dataclasses.replace(made.fitted(f"r/{n}", seed=None)[0], onset=None, regime=regime)
        for n, regime in enumerate(regimes)
    ]
    assert findings.onset_finding(made.analysis([made.fitted("r/0")]), runs) == finding


def test_a_reason_that_several_paths_share_is_said_once() -> None:
    skipped = [
        SkippedPath("runs/4", "repeat"),
        SkippedPath("x", "a link"),
        SkippedPath("runs/5", "repeat"),
    ]
    analysis = made.analysis([made.fitted("r")], skipped=skipped)
    assert dropped_rows.omitted_rows(analysis, {}) == [
        "3 paths skipped:", "  runs/4, runs/5: repeat", "  x: a link",
    ]  # fmt: skip
