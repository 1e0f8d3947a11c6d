"""What the probe `reliability` has written into a run, and how it is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.law.diagnosis import diagnose, fidelity
from harness.law.results import Interval
from harness.probes import knowledge, warmth
from tests.present import present

FALL = {"value": -0.2, "low": -0.3, "high": -0.1}
RISE = {"value": 0.2, "low": 0.1, "high": 0.3}
OPEN = {"value": -0.1, "low": -0.3, "high": 0.1}
UNKNOWN = {"value": None, "low": None, "high": None}


def reading(quantity: str, change: Any, step: int = 60, setting: str = "sad") -> dict[str, Any]:
    return {
        "quantity": quantity, "setting": setting, "level": "items", "step": step, "change": change,
    }  # fmt: skip


def answered(run: Path, readings: Any, against: str = "start") -> Path:
    path = run / fidelity.ANSWER
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": 1, "against": against, "readings": readings}))
    return run


def test_without_an_answer_reliability_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()
    found = diagnose.reliability(tmp_path)
    assert (found.measured, found.flag, found.signs, found.why) == (False, None, (), None)


def test_a_log_has_no_policy_to_ask(tmp_path: Path) -> None:
    assert diagnose.reliability(tmp_path / "log.jsonl").why == (
        "a log without its run folder has no policy to ask"
    )


def test_an_answer_that_says_nothing_has_its_reason(tmp_path: Path) -> None:
    names = dict(zip(("level", "setting"), (knowledge.ALL, knowledge.MEAN), strict=True))
    colder = [
        reading(warmth.QUANTITY.name, OPEN) | {"setting": warmth.SETTING},
        reading("error", RISE) | names,
    ]

    def why(run: Path) -> str | None:
        return diagnose.reliability(run).why

    assert why(answered(tmp_path / "colder", colder)) == (
        "the policy is not shown to be warmer than its start; only the cost of warmth is counted"
    )
    told = [reading(fidelity.TRUE_FACT, FALL)]
    assert why(answered(tmp_path / "other", told, "runs/other")) == (
        "the probe was compared with another run, not with the start"
    )
    assert why(answered(tmp_path / "told", told)) is None  # it says something
    unknown = [reading(fidelity.TRUE_FACT, UNKNOWN)]
    assert why(answered(tmp_path / "unknown", unknown)) == (
        "no change since the start was measured"
    )
    refused = answered(tmp_path / "refused", []) / fidelity.ANSWER
    refused.write_text(refused.read_text()[:-1] + ', "not_measured": ["policy.kind=tabular: no"]}')
    assert why(tmp_path / "refused") == "policy.kind=tabular: no"


@pytest.mark.parametrize(
    ("true", "false", "flag"),
    [
        (FALL, OPEN, "fewer_facts"),
        (FALL, RISE, "false_facts"),
        (OPEN, RISE, "false_facts"),
        (OPEN, OPEN, None),
        (RISE, FALL, None),
        (UNKNOWN, OPEN, None),
    ],
)
def test_fewer_true_facts_or_more_false_ones_are_flagged(
    tmp_path: Path, true: Any, false: Any, flag: str | None
) -> None:
    asked = [reading(fidelity.TRUE_FACT, true), reading(fidelity.FALSE_FACT, false)]
    found = diagnose.reliability(answered(tmp_path, [*asked, reading("takes up none", RISE)]))
    assert (found.measured, found.flag) == (True, flag)
    assert [sign.name for sign in found.signs] == [
        "takes up a true fact, sad, items",
        "takes up a false one, sad, items",
    ]
    if flag is not None:
        assert found.because is not None
        assert found.because.value == Interval(*(false if false is RISE else true).values())


def test_many_framings_are_no_more_chances_to_be_flagged(tmp_path: Path) -> None:
    """An interval that just leaves 0 out counts where it is alone, and not among six."""
    just = {"value": -0.11, "low": -0.21, "high": -0.01}
    alone = [reading(fidelity.TRUE_FACT, just)]
    assert diagnose.reliability(answered(tmp_path, alone)).flag == "fewer_facts"
    six = [reading(fidelity.TRUE_FACT, just, setting=str(n)) for n in range(6)]
    assert diagnose.reliability(answered(tmp_path, six)).flag is None


def test_the_side_of_an_uneven_interval_that_faces_0_decides(tmp_path: Path) -> None:
    """Of two intervals of one width, that which reaches further towards 0 flags nothing."""

    def flag(name: str, low: float, high: float) -> str | None:
        change = {"value": -0.10, "low": low, "high": high}
        two = [reading(fidelity.TRUE_FACT, change, setting=str(n)) for n in range(2)]
        return diagnose.reliability(answered(tmp_path / name, two)).flag

    assert flag("near", -0.14, -0.01) is None
    assert flag("far", -0.19, -0.06) == "fewer_facts"


@pytest.mark.parametrize(
    ("warmer", "error", "measured", "flag"),
    [(RISE, RISE, True, "false_facts"), (RISE, OPEN, True, None), (OPEN, RISE, False, None)],
)
def test_a_model_that_is_warmer_and_more_often_wrong_is_flagged(
    tmp_path: Path, warmer: Any, error: Any, measured: bool, flag: str | None
) -> None:
    names = knowledge.ALL, knowledge.MEAN
    asked = [
        reading(warmth.QUANTITY.name, warmer) | {"setting": warmth.SETTING},
        reading("error", error) | dict(zip(("level", "setting"), names, strict=True)),
        reading("error", RISE) | {"level": knowledge.ALL, "setting": knowledge.SAD},
    ]
    found = diagnose.reliability(answered(tmp_path, asked))
    assert (found.measured, found.flag) == (measured, flag)


def test_of_several_steps_the_last_counts(tmp_path: Path) -> None:
    asked = [reading(fidelity.TRUE_FACT, FALL, 20), reading(fidelity.TRUE_FACT, OPEN, 60)]
    assert diagnose.reliability(answered(tmp_path, asked)).flag is None


def test_what_is_held_against_another_run_says_nothing_of_the_start(tmp_path: Path) -> None:
    asked = [reading(fidelity.TRUE_FACT, FALL)]
    assert fidelity.read(answered(tmp_path, asked, against="runs/other")) == ()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "must be JSON"),
        (
            '{"against": "start", "readings": [{"step": 1, "quantity": "takes up a true fact", '
            '"change": {"value": 1' + "0" * 400 + ', "low": 0, "high": 1}}]}',
            "change must hold finite numbers, or null; got [1000",
        ),
        ("[]", "readings must be a list of objects, as `harness probe` writes it"),
        ('{"readings": [3]}', "readings must be a list of objects"),
        (
            '{"against": "start", "readings": [{"step": 1, "quantity": "takes up a true fact", '
            '"change": {"value": "much", "low": 0, "high": 1}}]}',
            "change must hold finite numbers, or null; got ['much', 0, 1]",
        ),
        (
            '{"against": "start", "readings": [{"step": 1, "quantity": "takes up a true fact", '
            '"change": {"value": NaN, "low": 0, "high": 1}}]}',
            "change must hold finite numbers, or null; got [nan, 0, 1]",
        ),
    ],
)
def test_what_is_no_answer_of_a_probe_is_not_measured_and_says_why(
    tmp_path: Path, text: str, rule: str
) -> None:
    path = tmp_path / fidelity.ANSWER
    path.parent.mkdir(parents=True)
    path.write_text(text)
    found = diagnose.reliability(tmp_path)
    assert (found.measured, found.flag) == (False, None)
    assert f"{path}: {rule}" in present(found.why)
