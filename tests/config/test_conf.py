"""conf/ and sweeps/: every option composes, a user's own file comes first, a user's word last."""

import os
import re
from pathlib import Path

import pytest

from harness.compose import planner, search_path
from harness.config import keys
from harness.config.run import LevelsConfig, RunConfig
from harness.errors import ConfigError
from harness.utils import installation

OPTIONS = {group: search_path.options(group) for group in keys.groups()}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def config(*words: str) -> RunConfig:
    (point,) = planner.plan(words).points
    return point.config


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


@pytest.mark.parametrize("number", range(max(map(len, OPTIONS.values()))))
def test_every_option_composes_and_carries_its_own_name(number: int) -> None:
    """Choose the option of this number in each group, the first where it has fewer."""
    chosen = {g: names[number if number < len(names) else 0] for g, names in OPTIONS.items()}
    chosen["algorithm"] = "grpo"  # others refuse some remedies and rewards
    words = [f"{group}={name}" for group, name in chosen.items()]
    made = config(*words, "trainer.updates_per_batch=2")  # else some remedies would do nothing
    assert {group: getattr(made, group).name for group in OPTIONS} == chosen


@pytest.mark.parametrize("name", OPTIONS["algorithm"])
def test_every_algorithm_composes_and_carries_its_own_name(name: str) -> None:
    assert config(f"algorithm={name}", "policy=tabular").algorithm.name == name


@pytest.mark.parametrize(
    "name",
    [
        n if n == "smoke" else pytest.param(n, marks=pytest.mark.slow)
        for n in search_path.sweep_names()
    ],
)
def test_every_sweep_file_composes_and_opens_with_its_question(name: str) -> None:
    assert len(planner.plan([f"+sweeps={name}", "seed=1"]).points) > 1
    path = search_path.sweep_file(name)
    assert path is not None
    question = path.read_text().splitlines()[1]
    assert question.startswith("# ")
    assert "?" in question


SAID = re.compile(r"    (?:<\||[A-Z])")
"""A line of a system prompt."""


def test_every_group_has_an_option_and_every_option_file_is_short() -> None:
    for group in keys.groups():
        assert search_path.options(group)
    for file in (installation.shipped() / "conf").rglob("*.yaml"):
        lines = [line for line in file.read_text().splitlines() if not SAID.match(line)]
        assert len(lines) <= 26, file


def test_a_config_without_words_is_the_tiny_policy_at_the_middle_level() -> None:
    default = config()
    assert (default.policy.kind, default.difficulty.name, default.seed) == ("tiny", "medium", 1)


@pytest.mark.slow
def test_the_tabular_rung_brings_its_own_rate_and_a_word_of_the_user_wins() -> None:
    assert config("policy=tabular").algorithm.learning_rate > 1 > config().algorithm.learning_rate
    assert config("policy=tabular", "algorithm.learning_rate=2").algorithm.learning_rate == 2.0
    assert config("algorithm.learning_rate=2", "policy=tabular").algorithm.learning_rate == 2.0


def test_a_sweep_over_rungs_gives_each_its_own_settings() -> None:
    tabular, tiny = (p.config for p in planner.plan(["policy=tabular,tiny"]).points)
    assert (tabular.trainer.steps, tiny.trainer.steps) == (600, 100)
    assert tabular.algorithm.learning_rate != tiny.algorithm.learning_rate


def test_the_levels_for_evaluation_are_the_same_whatever_is_swept() -> None:
    plan = planner.plan(["difficulty=easy,hard", "difficulty.turn_cap=9"])
    levels = {repr(point.config.levels) for point in plan.points}
    assert len(levels) == 1
    shared: LevelsConfig = plan.points[0].config.levels
    assert [shared.easy.name, shared.medium.name, shared.hard.name] == ["easy", "medium", "hard"]
    ends = {(d.start_emotion, d.stop_below, d.turn_cap) for d in (shared.easy, shared.hard)}
    assert len(ends) == 1


def test_a_step_of_several_ranks_has_a_limit_where_none_is_set() -> None:
    given = config("trainer.ranks=2")
    assert (given.trainer.deadline_s, given.trainer.step_limit_s) == (None, 6 * 3600)
    assert given.on_ranks(1).trainer.step_limit_s is None
    assert config("trainer.ranks=2", "trainer.deadline_s=604800").trainer.step_limit_s == 604_800


@pytest.mark.slow
def test_an_own_difficulty_is_one_file_in_the_current_folder() -> None:
    write("conf/difficulty/stoic.yaml", "name: stoic\nthreshold: 2.5\n")
    assert config("difficulty=stoic").difficulty.threshold == 2.5
    names = [p.config.difficulty.name for p in planner.plan(["difficulty=glob(*)"]).points]
    assert names == ["adversarial", "easy", "hard", "medium", "stoic"]


def test_an_own_option_goes_by_the_name_of_its_file() -> None:
    write("conf/difficulty/mine.yaml", "name: hard\nthreshold: -3\n")
    with pytest.raises(
        ConfigError, match=r"mine.yaml: name must be 'mine', as the file is named, got"
    ):
        config("difficulty=mine")
    write("conf/difficulty/mine.yaml", "threshold: -3\n")
    with pytest.raises(ConfigError, match="got 'none at all'"):
        config("difficulty=mine")


def test_an_own_file_comes_before_the_shipped_one_of_the_same_name() -> None:
    write("conf/difficulty/easy.yaml", "name: easy\nthreshold: -1.5\n")
    assert config("difficulty=easy").difficulty.threshold == -1.5
    assert config().levels.easy.threshold == -1.5


@pytest.mark.slow
def test_an_own_sweep_file_comes_before_the_shipped_one_of_the_same_name() -> None:
    header = "# @package _global_\n# Mine?\nhydra: {sweeper: {params: {seed: '8,9'}}}\n"
    write("sweeps/seeds.yaml", header)
    write("sweeps/mine.yaml", header.replace("8,9", "5,6,7"))
    assert planner.plan(["+sweeps=seeds"]).axes == {"seed": (8, 9)}
    assert planner.plan(["+sweeps=mine"]).axes == {"seed": (5, 6, 7)}
    assert len(planner.plan(["+sweeps=difficulty_ladder", "seed=1"]).points) == 3


def test_an_own_sweep_file_may_fix_settings_and_choose_a_launcher() -> None:
    write(
        "sweeps/mine.yaml",
        "# @package _global_\n# Mine?\ndefaults:\n  - override /policy: tabular\n"
        "  - override /hydra/launcher: basic\ntrainer: {steps: 7}\n"
        "hydra: {sweeper: {params: {seed: '1,2'}}}\n",
    )
    points = planner.plan(["+sweeps=mine"]).points
    assert {(p.config.policy.kind, p.config.trainer.steps) for p in points} == {("tabular", 7)}
    assert planner.plan(["+sweeps=mine", "trainer.steps=9"]).points[0].config.trainer.steps == 9


BROKEN = {
    "unreadable": (b"\xff\xfe\x00", "must be UTF-8"),
    "not_yaml": (b"# @package _global_\nseed: [1\n", "yaml:3: cannot be read as YAML: "),
    "a_list": (b"# @package _global_\n- 1\n", "must be a mapping"),
    "no_header": (b"seed: 3\n", "must begin with `# @package _global_`"),
    "own_hydra": (b"# @package _global_\nhydra: {run: {dir: x}}\n", "only hydra.sweeper and"),
    "typo": (b"# @package _global_\ntrainr: {steps: 3}\n", "nearest: trainer"),
    "deep_typo": (b"# @package _global_\ntrainer: {step: 3}\n", "nearest: trainer.steps"),
    "bad_axis": (b"# @package _global_\nhydra: {sweeper: {params: {sed: '1,2'}}}\n", "sed=1,2"),
    "launcher_as_axis": (
        b"# @package _global_\nhydra: {sweeper: {params: {hydra.launcher.n_jobs: 1}}}\n",
        "hydra.sweeper.params must hold axes and config keys, got hydra.launcher.n_jobs; settings",
    ),
    "sweep_as_axis": (
        b"# @package _global_\nhydra: {sweeper: {params: {+sweeps: smoke}}}\n",
        "hydra.sweeper.params must hold axes and config keys, got sweeps;",
    ),
    "bad_params": (b"# @package _global_\nhydra: {sweeper: {params: [1]}}\n", "must be a mapping"),
    "bad_sweeper": (b"# @package _global_\nhydra: {sweeper: 3}\n", "must be a mapping"),
    "bad_hydra": (b"# @package _global_\nhydra: 3\n", "hydra must be a mapping of its keys, got 3"),
    "bad_group": (b"# @package _global_\ntrainer: 3\n", "trainer must be a mapping of its keys"),
    "bad_defaults": (b"# @package _global_\ndefaults: 7\n", "defaults must be a list, got 7"),
    "bad_entry": (b"# @package _global_\ndefaults: [foo]\n", "/GROUP: NAME`, got 'foo'"),
    "bad_option": (
        b"# @package _global_\ndefaults: [{override /policy: tabulr}]\n",
        "policy must be one of hf, llama3_2_1b",
    ),
    "bombs": (
        b"# @package _global_\na: &a [1]\nb: [" + b", ".join([b"*a"] * 11) + b"]\n",
        "at most 10 aliases, got more",
    ),
    "long": (b"# @package _global_\n" + b"#" * 1_000_001, "at most 1,000,000 bytes"),
}


def test_an_own_option_sets_its_own_group_only() -> None:
    write("conf/difficulty/g.yaml", "# @package _global_\nhydra: {run: {dir: /tmp/x}}\n")
    with pytest.raises(ConfigError, match=r"g.yaml: an option of difficulty must not have a `# @p"):
        planner.plan(["difficulty=g"])
    write("conf/difficulty/g.yaml", "name: g\nhydra: {run: {dir: /tmp/x}}\n")
    with pytest.raises(ConfigError, match=r"g.yaml: difficulty.hydra: no such key"):
        planner.plan(["difficulty=g"])


def test_the_largest_seed_is_said_in_full() -> None:
    with pytest.raises(ConfigError, match=r"between 0 and \d{10}, got -1$"):
        planner.plan(["seed=-1"])


def test_a_pipe_or_a_dangling_link_is_refused_and_not_waited_for() -> None:
    Path("sweeps").mkdir()
    os.mkfifo("sweeps/pipe.yaml")
    Path("sweeps/lost.yaml").symlink_to("gone.yaml")
    with pytest.raises(ConfigError, match=r"pipe.yaml: must be a file, got a pipe or a device"):
        planner.plan(["+sweeps=pipe"])
    with pytest.raises(ConfigError, match=r"lost.yaml: must be a file, got a link to gone.yaml"):
        planner.plan(["+sweeps=lost"])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_sweep_file_is_named_with_what_is_wrong(name: str) -> None:
    content, message = BROKEN[name]
    Path("sweeps").mkdir()
    Path("sweeps", f"{name}.yaml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        planner.plan([f"+sweeps={name}"])
    assert message in str(caught.value)
    assert f"{name}.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [mine\n", "mine.yaml:2: cannot be read as YAML: "),
        ("name: mine\nthreshhold: 1\n", "nearest: difficulty.threshold"),
        ("name: mine\nturn_cap: many\n", "difficulty.turn_cap must be a whole number, got 'many'"),
        ("name: mine\nturn_cap: 99\n", "difficulty.turn_cap must lie between 1 and 20, got 99"),
        ("name: ../../mine\n", "name must be 'mine', as the file is named, got '../../mine'"),
        ("name: ${oc.env:HOME}\n", "not to a resolver"),
    ],
)
def test_a_broken_own_option_is_named_with_what_is_wrong(text: str, message: str) -> None:
    write("conf/difficulty/mine.yaml", text)
    with pytest.raises(ConfigError) as caught:
        planner.plan(["difficulty=mine"])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_programs_config_is_not_taken_for_ours() -> None:
    write("conf/config.yaml", "defaults: [_self_]\nlr: 3\n")
    with pytest.raises(ConfigError, match=r"conf/config.yaml: would replace harness's own"):
        planner.plan([])


def test_an_own_config_that_begins_with_the_schema_is_taken() -> None:
    shipped = (installation.shipped() / "conf" / "config.yaml").read_text()
    write("conf/config.yaml", shipped.replace("seed: 1", "seed: 41"))
    assert config().seed == 41
