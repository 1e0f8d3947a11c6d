"""Levels whose users are not valid: refused when planned, or trained on unchecked and recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.calibration.validity import requirements
from harness.cli import sweep
from harness.cli.sweep import SweepOptions
from harness.compose import planner
from harness.config.run import LEVELS, RunConfig
from harness.errors import ConfigError
from harness.execution import difficulty_cards, ledger, user_validity
from harness.execution.retry import RetryPolicy
from harness.records import run_status
from harness.records import validity as records
from harness.records.run_folder import RunFolder
from harness.records.validity import LevelValidity

GOOD = {
    "kind_minus_cruel": {"value": 30.0, "low": 25.0, "high": 35.0},
    "cruel_heard": {"value": 0.7, "low": 0.6, "high": 0.8},
}
CRUEL = GOOD | {"kind_minus_cruel": {"value": -7.0, "low": -12.0, "high": -2.0}}
DEAF = GOOD | {"cruel_heard": {"value": 0.49, "low": 0.4, "high": 0.6}}
UNMOVED = ("difficulty=hard", "difficulty.threshold=5")
"""A level at which nothing that is said lifts the mood, whatever is heard."""


def point(*words: str) -> RunConfig:
    return planner.point(words).config


def measured(section: dict[str, Any]) -> LevelValidity:
    return records.of_card("lexical", section, tuple(requirements.problems(section)))


@pytest.fixture
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    user_validity._scripted_validity.cache_clear()


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        (
            CRUEL,
            "the user is not shown to prefer kindness to cruelty "
            "(kind minus cruel replies -7.0 [-12.0, -2.0] points)",
        ),
        (DEAF, "the user hears 49% of cruel replies as hurtful"),
    ],
)
def test_an_invalid_level_is_one_sentence_unless_it_is_to_be_trained_on(
    section: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        user_validity.refuse("mine", measured(section), unchecked=False)
    assert str(caught.value) == (
        "difficulty=mine: its user must be shown to prefer kindness to cruelty and to hear at "
        f"least 50% of it, unless difficulty.unchecked=true; measured by lexical: {problem}"
    )
    user_validity.refuse("mine", measured(section), unchecked=True)
    user_validity.refuse("mine", measured(GOOD), unchecked=False)


def test_a_level_that_nobody_measured_is_not_shown_to_be_valid() -> None:
    assert len(requirements.problems({})) == 2


@pytest.mark.usefixtures("_own_cache")
def test_a_sweep_over_an_invalid_level_is_refused_before_anything_is_created(
    tmp_path: Path,
) -> None:
    words = [*UNMOVED, "policy=tabular", "trainer.steps=1"]
    with pytest.raises(ConfigError, match=r"^difficulty=hard: .* kindness to cruelty \(kind minus"):
        sweep.sweep(SweepOptions(words, dry_run=False, as_json=False, retry_policy=RetryPolicy()))
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


@pytest.mark.usefixtures("_own_cache")
def test_a_dry_run_notes_that_a_level_would_be_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code = sweep.sweep(
        SweepOptions([*UNMOVED], dry_run=True, as_json=False, retry_policy=RetryPolicy())
    )
    assert code == 0
    assert "note: difficulty=hard: its user must be" in capsys.readouterr().err


@pytest.mark.usefixtures("_own_cache")
def test_a_level_trained_on_unchecked_is_told_and_recorded_with_what_was_measured() -> None:
    plan = planner.plan([*UNMOVED, "difficulty.unchecked=true", "seed=1,2"])
    (note,) = user_validity.check([p.config for p in plan.points])
    assert note.startswith("difficulty=hard: unchecked, and every verdict says so: the user is not")
    made = ledger.create(plan, ())
    for row in made.runs:
        kept = records.from_json(run_status.read(RunFolder(Path(str(row.dir))).status).validity)
        assert kept is not None
        assert kept["hard"].problems
        assert kept["hard"].reader == "lexical"
        assert kept["hard"].measured["kind_minus_cruel"] is not None


@pytest.mark.usefixtures("_own_cache")
def test_a_level_without_a_card_is_measured_once_and_kept(tmp_path: Path) -> None:
    first = user_validity.of_run(point(*UNMOVED))
    (kept,) = (tmp_path / "cache").glob("validity-*.json")
    planted = json.loads(kept.read_text()) | GOOD
    kept.write_text(json.dumps(planted))
    user_validity._scripted_validity.cache_clear()
    assert not first["hard"].valid
    assert user_validity.of_run(point(*UNMOVED))["hard"].valid
    assert user_validity.check([point(*UNMOVED)]) == []


@pytest.mark.usefixtures("_own_cache")
def test_a_damaged_entry_of_the_cache_is_measured_again_once(tmp_path: Path) -> None:
    first = user_validity.of_run(point(*UNMOVED))
    (kept,) = (tmp_path / "cache").glob("validity-*.json")
    whole = kept.read_text()
    kept.write_text('{"kind_minus_cruel": "much"}')
    user_validity._scripted_validity.cache_clear()
    assert user_validity.of_run(point(*UNMOVED)) == first
    assert kept.read_text() == whole


@pytest.mark.usefixtures("_own_cache")
def test_a_shipped_level_has_the_validity_of_its_card_at_any_group_size(tmp_path: Path) -> None:
    config = point("difficulty=easy")
    path = difficulty_cards.SHIPPED / difficulty_cards.file_name(difficulty_cards.key(config))
    section = json.loads(path.read_text())["validity_held_out"]
    assert user_validity.of_run(config) == {"easy": measured(section)}
    assert user_validity.of_run(point("difficulty=easy", "algorithm.group_size=4")) == {
        "easy": measured(section)
    }
    assert not (tmp_path / "cache").exists()


def test_whether_it_is_checked_changes_no_card_and_no_group() -> None:
    plain, unchecked = point("seed=1"), point("seed=1", "difficulty.unchecked=true")
    assert difficulty_cards.key(plain) == difficulty_cards.key(unchecked)
    assert user_validity.of_run(plain) == user_validity.of_run(unchecked)


@pytest.mark.parametrize(
    ("words", "levels"),
    [
        (["difficulty=hard"], ["hard"]),
        (["curriculum=staged"], list(LEVELS)),
        (["curriculum=mixed", "curriculum.weight_easy=0"], ["medium", "hard"]),
        (["curriculum=reverse", "difficulty=easy"], ["easy"]),
    ],
)
def test_each_level_that_is_met_in_training_is_looked_at(
    words: list[str], levels: list[str]
) -> None:
    assert list(user_validity.of_run(point(*words))) == levels


def test_what_run_json_says_is_read_back_and_damage_is_nothing() -> None:
    validity = {"hard": measured(CRUEL), "easy": measured(GOOD)}
    plain = json.loads(json.dumps(records.to_json(validity)))
    assert records.from_json(plain) == validity
    nonsense = {"reader": 1, "measured": 2, "problems": 3}
    damages: list[Any] = [None, [], {"hard": {}}, {"hard": nonsense}]
    for damaged in damages:
        assert records.from_json(damaged) is None
    both = records.merge([validity, {"easy": measured(DEAF)}])
    assert list(both) == ["easy", "easy (2)", "hard"]
