"""`--margin QUANTITY=VALUE`: what is taken, and what is refused before anything is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.fit import FitOptions, fit
from harness.errors import ConfigError
from harness.law.compare.claims import DEFAULT_MARGINS, parse_margins
from harness.testing import run_folders, synthetic


def test_what_is_named_replaces_the_default_and_the_rest_stays() -> None:
    assert parse_margins([]) == DEFAULT_MARGINS
    assert parse_margins(["ceiling=0.02", "a=0.5"]) == {
        **DEFAULT_MARGINS,
        "ceiling": 0.02,
        "a": 0.5,
    }


@pytest.mark.parametrize("word", ["reward=0.1", "ceiling", "", "=0.1", "A=0.1", " a=0.1"])
def test_another_quantity_is_refused_with_those_there_are(word: str) -> None:
    rule = r"^--margin: must be QUANTITY=VALUE for one of a, ceiling, onset, gain, fall, got "
    with pytest.raises(ConfigError, match=rule) as refused:
        parse_margins([word])
    assert str(refused.value).endswith(repr(word))


@pytest.mark.parametrize("value", ["", "x", "0", "-0.1", "nan", "inf", "1e999", "0.1=2"])
def test_a_margin_is_a_finite_number_above_zero(value: str) -> None:
    rule = rf"^--margin: VALUE must be a finite number above 0, got 'gain={value}'$"
    with pytest.raises(ConfigError, match=rule):
        parse_margins([f"gain={value}"])


def test_a_quantity_named_twice_is_not_guessed_at() -> None:
    with pytest.raises(ConfigError, match=r"^--margin: must name a quantity once, got a again"):
        parse_margins(["a=0.1", "a=0.2"])


def test_a_bad_margin_ends_before_the_analysis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = FitOptions((tmp_path,), tmp_path / "out", None, None, "none", False, None, ("b=1",))
    with pytest.raises(ConfigError, match=r"^--margin: "):
        fit(wanted, as_json=True, explain=False)
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "out").exists()


def test_the_margin_reaches_the_contrasts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in (1, 2):
        for level in ("easy", "hard"):
            rows = synthetic.rows(synthetic.lawful(seed, 40, synthetic.LOW))
            run_folders.write_run(tmp_path / f"{level}{seed}", rows, seed=seed, level=level)
    out = tmp_path / "out"
    wanted = FitOptions((tmp_path,), out, None, None, "none", False, None, ("onset=0.25",))
    assert fit(wanted, as_json=True, explain=False) == 0
    found = json.loads(capsys.readouterr().out)
    margins = {c["quantity"]: c["margin"] for g in found["groups"] for c in g["contrasts"]}
    assert margins["onset"] == 0.25
