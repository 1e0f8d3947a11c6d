"""A probe holds the conversations of an evaluation: its numbers are those of the run's own rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.probes import ask, registry, warmth
from harness.probes.quantity import ItemChoice
from harness.probes.results import ProbeReading
from harness.records.run_folder import RunFolder
from tests.probes.made import LORA, probed, trained
from tests.train import made_language_runs as language
from tests.train.made import brief, short


@pytest.fixture(scope="module")
def tabular(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return trained(tmp_path_factory.mktemp("runs") / "tabular", brief())


def rewards(readings: Sequence[ProbeReading]) -> Mapping[str, float | None]:
    """The mean reward of the policy as it was trained, by level."""
    return {
        reading.level: reading.estimate.value
        for reading in readings
        if (reading.quantity, reading.setting) == ("best of 1", "")
    }


def of_row(run: RunFolder, step: int) -> Mapping[str, float]:
    row = [json.loads(line) for line in run.metrics.read_text().splitlines()][step - 1]
    return {name: row[f"eval/{name}/reward"] for name in ("easy", "medium", "hard")}


def test_the_start_and_each_checkpoint_earn_what_the_rows_say(tabular: RunFolder) -> None:
    found = probed(tabular, step=2)
    assert rewards(found.reference) == pytest.approx(of_row(tabular, 1), abs=1e-12)
    assert rewards(found.readings) == pytest.approx(of_row(tabular, 3), abs=1e-12)
    assert found.steps == (2,)


@pytest.mark.slow  # trains a language model
def test_those_of_a_language_model_do_too(tmp_path: Path) -> None:
    run = trained(tmp_path / "tiny", replace(language.config(), difficulty=short(2).hard))
    found = probed(run, step=2)
    assert rewards(found.reference) == pytest.approx(of_row(run, 1), abs=1e-6)
    assert rewards(found.readings) == pytest.approx(of_row(run, 3), abs=1e-6)


@pytest.mark.slow  # trains a language model
def test_adapters_are_put_onto_the_model_that_they_were_trained_on(tmp_path: Path) -> None:
    config = replace(brief(), policy=LORA, difficulty=short(2).easy, levels=short(2))
    algorithm = replace(config.algorithm, learning_rate=0.05)
    run = trained(tmp_path / "lora", replace(config, algorithm=algorithm))
    found = probed(run, step=2)
    assert rewards(found.readings) == pytest.approx(of_row(run, 3), abs=1e-6)
    kl = {
        reading.level: reading.estimate.value
        for reading in probed(run, "drift").readings
        if reading.quantity == "KL to the start"
    }
    assert all(value is not None and value > 1e-3 for value in kl.values())
    of_items = probed(run, "reliability", choice=ItemChoice(first=6))
    changed = {one.quantity: one.change.value for one in of_items.readings}
    assert of_items.items == 6
    assert of_items.verdict
    assert abs(changed[warmth.QUANTITY.name] or 0) > 1e-4, "the adapters do something"
    own = [one for one in probed(run, "understanding").readings if one.quantity.startswith("own")]
    assert all(one.estimate.value is not None for one in own)


def test_along_asks_every_checkpoint(tabular: RunFolder) -> None:
    found = probed(tabular, "drift", along=True)
    assert found.steps == (2, 4)
    kl = [r for r in found.readings if r.quantity == "KL to the start" and r.level == "medium"]
    assert [reading.step for reading in kl] == [2, 4]
    assert all((reading.estimate.value or 0) > 0 for reading in kl)
    start = [r.estimate for r in found.reference if r.quantity == "KL to the start"]
    assert {(one.value, one.low, one.high) for one in start} == {(0, 0, 0)}


def test_a_run_against_itself_has_not_changed(tabular: RunFolder) -> None:
    found = probed(tabular, "grounding", against=str(tabular.path))
    known = [r.change for r in found.readings if r.estimate.value is not None]
    assert known
    assert {(one.value, one.low, one.high) for one in known} <= {(0, 0, 0), (None, None, None)}


def test_levels_must_be_the_same(tabular: RunFolder, tmp_path: Path) -> None:
    config = brief()
    fewer = replace(config, eval=replace(config.eval, levels=[]))
    other = trained(tmp_path / "other", fewer)
    with pytest.raises(ConfigError) as error:
        probed(tabular, against=str(other.path))
    assert str(error.value) == (
        f"{other.config}: eval.levels must be as in {tabular.config}, since both meet the same "
        "users with --against, got [] (uses medium) instead of ['easy', 'medium', 'hard']"
    )


def test_levels_of_one_name_must_be_alike(tabular: RunFolder, tmp_path: Path) -> None:
    config = brief()
    levels = replace(config.levels, hard=replace(config.levels.hard, turn_cap=2))
    other = trained(tmp_path / "other", replace(config, levels=levels))
    with pytest.raises(ConfigError) as error:
        probed(tabular, "understanding", against=str(other.path))
    assert str(error.value).startswith(f"{other.config}: difficulty or levels must be as in")


@pytest.mark.parametrize(
    ("key", "other", "own"),
    [
        ("reader_model", "smollm2_135m", "a/reader"),
        ("reader_head", "", "/heads/of_us.json"),
        ("typicality_cut", 4.5, None),
    ],
)
def test_users_that_hear_otherwise_are_not_the_same_users(
    tmp_path: Path, key: str, other: object, own: object
) -> None:
    folders = []
    for name, value in (("own", own), ("other", other)):
        reader = {"reader": "lm", "reader_model": "smollm2_135m", key: value}
        config = {"policy": {"kind": "hf", "model": "a/model"}, "simulator": reader}
        folders.append(tmp_path / name)
        folders[-1].mkdir()
        (folders[-1] / "harness.yaml").write_text(json.dumps({"config": config}))
    question = ask.ProbeRequest(registry.get("grounding"), folders[0], against=str(folders[1]))
    with pytest.raises(ConfigError, match=rf": simulator\.{key} must be as in .* the same users"):
        ask.ask(question, lambda what, held, of: None)
