"""cards.json of a sweep, and the cards that ship."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.compose import planner
from harness.compose.plan import Point
from harness.config.run import LEVELS, RunConfig
from harness.errors import DataError
from harness.execution import difficulty_cards
from harness.records import run_folder, sweep_file
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import LedgerRow, Sweep

Configs = dict[str, RunConfig]


@pytest.fixture(scope="module")
def configs() -> Configs:
    plan = planner.plan([f"difficulty={','.join(LEVELS)}", "policy=tabular", "seed=1,2"])
    return {name: point.config for name, point in zip(plan.names, plan.points, strict=True)}


def test_the_cards_of_the_shipped_levels_are_up_to_date(configs: Configs) -> None:
    second = planner.plan([f"difficulty={','.join(LEVELS)}", "simulator=second"]).points
    beyond = planner.plan(["difficulty=adversarial"]).points
    every = [*configs.values(), *(point.config for point in (*second, *beyond))]
    due = {difficulty_cards.file_name(difficulty_cards.key(config)) for config in every}
    shipped = {path.name for path in difficulty_cards.SHIPPED.glob("*.json")}
    assert shipped == due, "the simulator or its measurement has changed: run `make cards`"


def test_a_sweep_of_shipped_levels_takes_their_cards(
    configs: Configs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    root = made(tmp_path / "sweep", configs)
    difficulty_cards.make(root)
    found = json.loads((root / difficulty_cards.FILE).read_text())
    assert found["schema"] == 1
    assert [entry["level"] for entry in found["cards"]] == list(LEVELS)
    assert [len(entry["runs"]) for entry in found["cards"]] == [2, 2, 2]
    acceptance = [entry["card"]["acceptance"]["value"] for entry in found["cards"]]
    assert acceptance == sorted(acceptance, reverse=True)
    assert found["cards"][0]["difficulty"]["disclosure"] == "free"
    assert not list((tmp_path / "cache").glob("*.json"))


def test_runs_that_are_added_get_their_cards_and_what_is_there_stays(
    configs: Configs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As a study is given more seeds, by then perhaps with another simulator."""
    monkeypatch.setattr(difficulty_cards, "SAY_AFTER_S", 0.0)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    names = list(configs)
    root = made(tmp_path / "sweep", {name: configs[name] for name in names[:2]})
    difficulty_cards.make(root)
    before = json.loads((root / difficulty_cards.FILE).read_text())["cards"]
    before[0]["card"]["acceptance"]["value"] = 0.123
    (root / difficulty_cards.FILE).write_text(json.dumps({"schema": 1, "cards": before}))
    with difficulty_cards.measured_in_background(root):  # nothing to do
        pass
    assert json.loads((root / difficulty_cards.FILE).read_text())["cards"] == before
    made(root, {name: configs[name] for name in names[2:]})
    rows = [LedgerRow(name, str(root / name), []) for name in names]
    sweep_file.write(root, Sweep(str(root), {}, rows))
    with difficulty_cards.measured_in_background(root):
        pass
    said = "the runs have ended; measuring the difficulty of their levels for "
    assert capsys.readouterr().err == f"harness: {said}{root / difficulty_cards.FILE}\n"
    after = json.loads((root / difficulty_cards.FILE).read_text())["cards"]
    assert after[: len(before)] == before
    assert sorted(name for entry in after for name in entry["runs"]) == sorted(names)


def test_a_damaged_file_of_cards_is_named_and_left(configs: Configs, tmp_path: Path) -> None:
    root = made(tmp_path / "sweep", dict(list(configs.items())[:1]))
    (root / difficulty_cards.FILE).write_text("[]")
    with pytest.raises(DataError, match="must hold the cards of a sweep, got other data"):
        difficulty_cards.make(root)


def test_a_run_with_a_damaged_config_costs_no_other_run_its_card(
    configs: Configs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = made(tmp_path / "sweep", dict(list(configs.items())[:2]))
    first, second = configs.keys() & {path.name for path in root.iterdir()}
    (root / first / "config.yaml").write_text("x: [")
    difficulty_cards.make(root)
    (card,) = json.loads((root / difficulty_cards.FILE).read_text())["cards"]
    assert card["runs"] == [second]
    assert f"{first} has no difficulty card: " in capsys.readouterr().err


def test_another_knob_or_group_size_is_another_card_and_another_seed_is_not(
    configs: Configs,
) -> None:
    config = next(iter(configs.values()))
    harder = replace(config, difficulty=replace(config.difficulty, threshold=0.7))
    grouped = replace(config, algorithm=replace(config.algorithm, group_size=4))
    keys = {difficulty_cards.key(c) for c in (config, harder, grouped, replace(config, seed=99))}
    assert len(keys) == 3


def made(root: Path, configs: Configs) -> Path:
    """A planned sweep of `configs`."""
    for name, config in configs.items():
        run_folder.create(RunFolder(root / name), Point((), {}, config).config)
    rows = [LedgerRow(name, str(root / name), []) for name in configs]
    sweep_file.write(root, Sweep(str(root), {}, rows))
    return root
