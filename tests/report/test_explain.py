"""What a person reads of null controls, the onset, the probe and the law on the other reward."""

from __future__ import annotations

import csv
import dataclasses
import io
from typing import Any

from harness.law.results import (
    AtOnset,
    BoundedEstimate,
    ColumnLaw,
    Identifiability,
    Interval,
    LawNumbers,
    LeastSquares,
    NetOfNull,
    Onset,
)
from harness.report.tables import csv_files
from tests.report import made
from tests.report.made_tables import printed

FALL = Onset("terminal_fall", 40, 35, 45)
WHOLE = LawNumbers(
    n_fitted=300, n_eff=100.0, a=Interval(0.2, 0.1, 0.3), b=Interval(0.9, 0.8, 1.0),
    ceiling=Interval(0.7, 0.6, 0.8), cov_ab=0.01, identified=Identifiability(a=True, ceiling=False),
    reliability=0.9, ols=LeastSquares(0.2, 0.9, 0.5),
)  # fmt: skip
OTHER = ColumnLaw(
    **{field.name: getattr(WHOLE, field.name) for field in dataclasses.fields(WHOLE)},
    n_valid=300, verdict="undetermined", reasons=["identification_range"], out_of_time_skill=None,
    same_batch=True, gain=None,
)  # fmt: skip


def said(**more: Any) -> str:
    return printed(made.analysis([made.fitted("runs/0", **more)]), explain=True)


def test_the_other_law_is_a_row_and_a_sentence_with_its_label() -> None:
    text = said(fits={"reward": OTHER})
    row = text[text.index("on reward") :]
    assert " ".join(row.split()[:2]) == "on reward"
    table, explained = text.split("law: R = ")
    assert "same batch," in table
    assert "expected to fit" in table
    assert "0.70 ?" in table
    assert (
        "On 'reward', same batch, expected to fit: a = 0.20 [0.10, 0.30], "
        "ceiling 0.70 [0.60, 0.80], law undetermined." in explained
    )


def test_a_headline_of_the_same_batch_is_labelled_too() -> None:
    text = said(same_batch=True)
    assert "R from 'reward' (same batch, expected to fit), equivalent to 30" in text


def test_a_law_without_numbers_on_the_other_reward_is_a_row_of_dashes() -> None:
    text = said(fits={"reward": dataclasses.replace(OTHER, a=None, b=None, ceiling=None)})
    assert "a = unknown, ceiling unknown" in text
    assert "None" not in text


def test_a_noise_driven_run_is_marked_at_its_verdict_and_at_its_onset() -> None:
    text = said(
        onset=FALL, noise_driven=True, reasons=["noise_driven"],
        null_share=Interval(0.8, 0.6, 1.0),
        net_of_null=NetOfNull(made.around(0.1, 0.05), None),
    )  # fmt: skip
    table, explained = text.split("law: R = ")
    assert table.count("noise") == 2
    assert (
        "The null control explains 0.80 [0.60, 1.00] of the fall of H (more than half: "
        "noise driven); net of the null control: fall 0.10 [0.05, 0.15]." in explained
    )
    assert "noise driven: a null control, without any signal, loses more than half" in explained


def test_a_run_whose_h_did_not_fall_has_no_share_for_its_null() -> None:
    text = said(net_of_null=NetOfNull(made.around(-0.1, 0.2), made.around(0.1, 0.2)))
    assert "H fell by no more than its noise, so the null control's share is undefined" in text


def test_what_was_so_at_the_onset_is_one_sentence() -> None:
    columns = {"frac_reward_zero_std": 0.4, "distinct_2": None, "strategy/entropy": 1.5}
    about = AtOnset(BoundedEstimate(0.12, 0.08, 0.16), columns)
    probe = Onset("budget_spent", 50, 45, 55)
    text = said(onset=FALL, at_onset=about, onset_probe=probe)
    assert (
        "At the onset: remaining reward 0.12 [0.08, 0.16], groups without variance 0.40, "
        "strategy entropy 1.50. On entropy/probe: entropy spent by step 50 [45, 55]." in text
    )
    open_end = AtOnset(BoundedEstimate(0.12, None, None), columns)
    assert "remaining reward 0.12, not identified," in said(onset=FALL, at_onset=open_end)


def test_silent_groups_and_the_noise_of_h_are_said_beside_what_they_bear_on() -> None:
    text = said(silent_share=Interval(0.71, 0.66, 0.76), reliability_from_se=0.93)
    assert "; 0.71 [0.66, 0.76] of groups carried no signal." in text
    expected = "(0.93 is expected from the standard errors of H)"
    assert f"; this a divided by the a above is 0.90 {expected}." in text


def test_a_run_is_explained_in_at_most_fifteen_lines() -> None:
    about = AtOnset(None, {"frac_reward_zero_std": 0.4})
    text = said(
        fits={"reward": OTHER}, onset=FALL, at_onset=about, noise_driven=True,
        null_share=Interval(0.8, 0.6, 1.0), net_of_null=NetOfNull(None, None),
        reasons=["law_break", "entropy_rises", "noise_driven"],
    )  # fmt: skip
    block = text[text.index("0:\n") :].splitlines()[1:]
    own = [line for line in block if line.startswith("  ")]
    assert 8 <= len(own) <= 15


def test_law_csv_has_the_same_in_columns() -> None:
    run = made.fitted(
        "runs/0", onset=FALL, onset_probe=Onset("budget_spent", 50, 45, 55), noise_driven=True,
        net_of_null=NetOfNull(made.around(0.25, 0.125), None), same_batch=False,
        at_onset=AtOnset(BoundedEstimate(0.5, None, None), {}),
        silent_share=made.around(0.5, 0.25),
    )  # fmt: skip
    text = csv_files.law_csv(made.analysis([run, made.fitted("runs/1")]))
    full, bare = csv.DictReader(io.StringIO(text))
    told = {
        "noise_driven": "true", "net_fall": "0.25", "net_fall_high": "0.375", "net_gain": "",
        "onset_probe_kind": "budget_spent", "onset_probe": "50", "silent_share_low": "0.25",
        "reward_left": "0.5", "reward_left_low": "", "same_batch": "false",
    }  # fmt: skip
    assert {name: full[name] for name in told} == told
    assert {bare[name] for name in told} == {""}


def test_the_finding_of_a_level_says_how_many_of_its_runs_are_noise() -> None:
    runs = [
        made.fitted(f"runs/{seed}", seed=seed, noise_driven=driven)
        for seed, driven in ((1, True), (2, False), (3, None))
    ]
    assert "law holds in all 3 runs, noise driven in 1; no onset" in printed(made.analysis(runs))
    assert "law holds, noise driven; no onset." in printed(made.analysis(runs[:1]))
    assert "noise driven" not in printed(made.analysis(runs[1:]))


def test_the_skill_behind_a_law_not_validated_is_told() -> None:
    text = said(reasons=["not_validated_out_of_time"], out_of_time_skill=-4.746)
    assert "no better than the last value (skill -4.75; the last value has skill 0;" in text


def test_too_few_rows_for_an_onset_are_not_called_the_lack_of_one() -> None:
    text = said(onset=None, regime=None)
    assert "The onset is unknown: there are too few rows to look for one." in text
    assert "No onset" not in text


def test_a_law_that_holds_until_the_onset_is_told_from_the_rows_before_it() -> None:
    told = {"verdict": "holds_until_onset", "reasons": ["law_break"], "whole_run": WHOLE}
    text = said(onset=FALL, n_fitted=39, **told)
    assert "to the 39 rows before the onset, equivalent to 30 independent rows." in text
    assert (
        "Verdict: law holds until the onset: the numbers above are of those rows "
        "(whole run: a = 0.20 [0.10, 0.30], ceiling 0.70 [0.60, 0.80])." in text
    )
