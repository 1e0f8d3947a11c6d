"""A run is filed under the options that it was made from, whatever words and files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.compose import planner
from harness.errors import ConfigError
from harness.testing.commands import here
from harness.utils import installation

HEADER = "# @package _global_\n# Mine?\n"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def refusal(*words: str) -> str:
    with pytest.raises(ConfigError) as caught:
        planner.plan(words)
    return str(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        ("difficulty=hard", "difficulty.name=easy"),
        ("difficulty=hard", "++difficulty.name=easy"),
        ("difficulty.name=easy,hard",),
        ("algorithm.name=ppo",),
        ("reward=terminal", "reward.mode=delta"),
        ("policy=tiny", "policy.kind=tabular"),
    ],
)
def test_a_word_cannot_set_a_label(words: tuple[str, ...], tmp_path: Path) -> None:
    done = here("sweep", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is set only by the option, so that results are labelled with what was" in done.stderr
    assert list(tmp_path.iterdir()) == []


SWEEPS = {
    "its values": "difficulty: {name: easy}\nhydra: {sweeper: {params: {seed: '1,2'}}}\n",
    "its kind": "policy: {kind: tabular}\nhydra: {sweeper: {params: {seed: '1,2'}}}\n",
    "an axis": "hydra: {sweeper: {params: {difficulty.name: 'easy,hard'}}}\n",
    "a forced axis": "hydra: {sweeper: {params: {++difficulty.name: 'easy,hard'}}}\n",
}


@pytest.mark.parametrize("way", SWEEPS)
def test_a_sweep_file_cannot_set_a_label(way: str) -> None:
    write("sweeps/mine.yaml", HEADER + SWEEPS[way])
    message = refusal("+sweeps=mine")
    assert "is set only by the option" in message
    assert "sweeps/mine.yaml" in message


def test_a_study_file_cannot_set_a_label(tmp_path: Path) -> None:
    shipped = installation.shipped() / "sweeps" / "studies" / "start_emotion.yaml"
    text = shipped.read_text(encoding="utf-8")
    assert "words: [policy=tabular]" in text
    changed = text.replace("words: [policy=tabular]", "words: [policy=tabular, policy.name=tiny]")
    write("sweeps/studies/mine.yaml", changed)
    done = here("study", "mine", "--dry-run", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "policy.name is set only by the option" in done.stderr


def test_an_own_config_cannot_set_a_label() -> None:
    shipped = (installation.shipped() / "conf" / "config.yaml").read_text(encoding="utf-8")
    write("conf/config.yaml", shipped + "difficulty: {name: easy}\n")
    message = refusal()
    assert message.startswith("conf/config.yaml: difficulty.name is set only by the option")
    assert message.endswith("; got 'easy'")


def test_an_option_cannot_take_its_name_from_another_key() -> None:
    write("conf/difficulty/mine.yaml", "name: ${reward.name}\nthreshold: 1\n")
    assert refusal("difficulty=mine") == (
        "difficulty.name must be 'mine', the option that was chosen, so that results are labelled "
        "with what was trained, got '${reward.name}'"
    )
    assert "must be 'mine'" in refusal("difficulty=mine,hard")
    assert "must be 'mine'" in refusal("difficulty=hard,mine")


def test_an_option_names_itself_and_its_kind() -> None:
    write("conf/policy/small.yaml", "name: small\nkind: tiny\nlayers: 1\n")
    configs = [point.config for point in planner.plan(["policy=small,tabular"]).points]
    assert [config.policy.name for config in configs] == ["small", "tabular"]


def test_an_option_cannot_state_keys_of_another_kind() -> None:
    write("conf/policy/small.yaml", "name: small\nkind: tiny\nlora_rank: 8\n")
    assert refusal("policy=small") == (
        "policy.lora_rank: has no effect with policy.kind=tiny; it belongs to policy.kind=hf, got 8"
    )


def test_a_level_whose_name_cannot_name_a_folder_is_refused() -> None:
    write("conf/difficulty/my level.yaml", "name: my level\n")
    assert "since it names the run's folder, got 'my level'" in refusal("difficulty=my level")


@pytest.mark.parametrize(
    ("name", "typed"), [("007", "'007'"), ("1", "'1'"), ("my_level", "my_level")]
)
def test_an_option_may_have_a_name_that_looks_like_a_number(name: str, typed: str) -> None:
    write(f"conf/difficulty/{name}.yaml", f"name: '{name}'\nturn_cap: 3\n")
    (point,) = planner.plan([f"difficulty={typed}"]).points
    assert point.config.difficulty.name == name
