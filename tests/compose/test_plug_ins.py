"""What plug-ins add to a plan: options of conf/, names of kinds, keys of their own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.compose import planner, search_path
from harness.errors import ConfigError
from harness.testing.commands import here

Install = Callable[..., None]
CODE = """
from dataclasses import dataclass
from typing import Annotated
from harness.config.ranges import Between
from harness.simulator.factory import SimulatorPlugIn
from harness.simulator.scripted.user import ScriptedSimulator
from harness.train.rollout.rewards import Reward, Terminal

@dataclass(frozen=True)
class Mine(Reward):
    by: Annotated[float, Between(0, 4)] = 1.0
    rewards = Terminal.rewards

@dataclass(frozen=True)
class Users(SimulatorPlugIn):
    def users(self, difficulty):
        return ScriptedSimulator(difficulty)
"""
POINTS = """
[harness.rewards]
mine = other_code:Mine
[harness.simulators]
mine = other_code:Users
[harness.conf]
other = other_code_conf
"""


@pytest.fixture(autouse=True)
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Install) -> Path:
    """The conf/ folder of a plug-in; the current folder is another."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    conf = tmp_path / "other_code_conf" / "conf"
    for group, text in (
        ("reward", "name: mine\nmode: mine\noptions: {by: 2}\n"),
        ("simulator", "name: mine\nkind: mine\n"),
        ("difficulty", "name: mine\nthreshold: 2\n"),
    ):
        (conf / group).mkdir(parents=True)
        (conf / group / "mine.yaml").write_text(text)
    (tmp_path / "other_code.py").write_text(CODE)
    installed(POINTS)
    return conf


def refused(*words: str) -> str:
    with pytest.raises(ConfigError) as caught:
        planner.plan(words)
    return str(caught.value)


def test_options_of_a_plug_in_are_chosen_and_their_keys_set_and_swept() -> None:
    plan = planner.plan(["reward=mine", "simulator=mine", "reward.options.by=1,3", "seed=1,2"])
    configs = [point.config for point in plan.points]
    assert [config.reward.options for config in configs] == [{"by": 1}] * 2 + [{"by": 3}] * 2
    assert {config.simulator.kind for config in configs} == {"mine"}
    assert plan.names[2] == "2-medium-seed1-by3"
    (alone,) = planner.plan(["reward=mine"]).points
    assert alone.config.reward.options == {"by": 2}


def test_a_level_of_a_plug_in_is_a_level() -> None:
    assert planner.plan(["difficulty=mine"]).points[0].config.difficulty.threshold == 2
    assert "mine" in search_path.options("difficulty")


def test_its_keys_are_refused_by_name_when_a_sweep_is_planned() -> None:
    assert refused("reward=mine", "reward.options.by=9").startswith(
        "reward.options.by must lie between 0 and 4, got 9"
    )
    assert refused("reward=mine", "reward.options.bye=1").startswith(
        "a key of reward.options must be one of by, got 'bye'"
    )
    assert refused("simulator=mine", "simulator.options.by=1").startswith(
        "simulator.options must be empty, as Users has none, got 'by'"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("reward=terminal", "reward.options.by=1"),
            "reward.options: has no effect with reward.mode=terminal; it belongs to a reward.mode "
            "from a plug-in, got {'by': 1}",
        ),
        (("reward=mine", "reward.mix=0.5"), "reward.mix: has no effect with reward.mode=mine"),
        (
            ("simulator=mine", "simulator.model=m"),
            "simulator.model: has no effect with simulator.kind=mine",
        ),
        (
            ("simulator=mine", "simulator.profiles=p"),
            "simulator.profiles: has no effect with simulator.kind=mine",
        ),
        (
            ("reward=main",),
            "reward must be one of alliance, ctc, delta, mine, mixed, terminal, turns, warmth, "
            "got 'main'",
        ),
    ],
)
def test_what_does_nothing_or_is_not_there_is_refused(words: tuple[str, ...], message: str) -> None:
    assert refused(*words).startswith(message)


def test_the_current_folder_and_ours_come_first(plug_in: Path) -> None:
    (plug_in / "difficulty" / "easy.yaml").write_text("name: easy\nthreshold: 3\n")
    ours = planner.plan(["difficulty=easy"]).points[0].config.difficulty.threshold
    assert ours != 3
    own = Path("conf/difficulty")
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("name: mine\nthreshold: 1\n")
    assert planner.plan(["difficulty=mine"]).points[0].config.difficulty.threshold == 1


def test_its_files_are_checked_as_those_of_the_current_folder(plug_in: Path) -> None:
    (plug_in / "reward" / "mine.yaml").write_text("name: mine\nmode: mine\n_target_: os.system\n")
    assert "_target_" in refused("reward=mine")
    (plug_in / "difficulty" / "mine.yaml").write_text("name: other\n")
    assert refused("difficulty=mine").endswith(
        "name must be 'mine', as the file is named, got 'other'"
    )


def test_calibrate_measures_none_of_its_users(tmp_path: Path) -> None:
    done = here("calibrate", "simulator=mine", cwd=tmp_path / "here")
    assert done.returncode == 2
    assert "calibrate measures scripted, second and served users, got mine" in done.stderr


def test_nothing_of_it_is_imported_while_it_is_not_used() -> None:
    import sys

    planner.plan(["difficulty=mine"])
    assert "other_code" not in sys.modules


@pytest.mark.parametrize("words", [("config", "reward"), ("sweep", "reward=mine", "--dry-run")])
def test_a_module_that_raises_ends_a_command_with_a_sentence(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "other_code.py").write_text("MINE = undefined\n")
    done = here(*words, cwd=tmp_path / "here")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "harness: harness.rewards: mine of other must be importable as other_code:Mine, "
        "got NameError: name 'undefined' is not defined\n"
    )


def test_conversations_of_a_plug_in_are_not_taken_over() -> None:
    """What is spoken again is met in the middle, and a plug-in's state is its own."""
    words = ("policy=tabular", "simulator=mine", "algorithm=critique_grpo")
    assert refused(*words, "algorithm.options.critique=score") == (
        "simulator.kind must be scripted, second or served with algorithm.kind=critique_grpo, "
        "whose conversations can be taken over, got mine"
    )
