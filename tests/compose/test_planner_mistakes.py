"""Wrong words: each gets one line that says what to write."""

import importlib.util
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.compose import planner
from harness.config import keys
from harness.errors import ConfigError
from harness.testing.commands import here


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


READ = "cannot be read: a word is KEY=VALUE"
OWN_KEYS = "of hydra's own keys only hydra/launcher"
OPTIONS = {
    "--retries=x": "--retries must be a whole number, got 'x'. See",
    "--retries=99": "--retries must be at most 20, got '99'. See",
    "--retries=-1": "--retries must be at least 0, got '-1'. See",
    "--on-failure=retry": "--on-failure: 'retry' is not one of 'continue', 'stop'. See",
}


@pytest.mark.parametrize("word", OPTIONS)
def test_a_wrong_value_of_an_option_is_named_with_option_and_rule(
    word: str, tmp_path: Path
) -> None:
    done = here("sweep", word, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"harness: {OPTIONS[word]} `harness sweep --help`.\n"


MISTAKES = {
    "trainer.steps=1e6": "trainer.steps must be a whole number, got '1000000.0'; write 1000000",
    "algorithm.options=3": "algorithm.options must be a mapping of keys to values, got 3",
    "algorithm.options=[1]": "algorithm.options must be a mapping of keys to values, got [1]",
    "algorithm.options=null": "algorithm.options must be a mapping of keys to values, got null",
    "algorithm.options={},3": "algorithm.options must be a mapping of keys to values, got 3",
    "remedy.methods=gppo": "remedy.methods must be a mapping of keys to values, got gppo",
    "simulator.options=token": "simulator.options must be a mapping of keys to values, got ...",
    "sed=1": "sed=1: no such key; nearest: seed; allowed: seed, difficulty, policy",
    "trainer.step=5": "nearest: trainer.steps; allowed in trainer: steps, conversations,",
    "steps=5": "steps=5: no such key; nearest: trainer.steps",
    "learnign_rate=1": "nearest: algorithm.learning_rate",
    "+typo=1": "+typo=1: no such key; ",
    "++trainer.stps=1": "nearest: trainer.steps",
    "~nope": "~nope: no such key",
    "+seed=1": "+seed=1: seed has a value already; drop the '+'",
    "+algorithm.options.gamma=1": (
        "+algorithm.options.gamma=1: algorithm.options.gamma needs no '+'; drop it"
    ),
    "=5": "=5: no such key",
    "difficulty=brutal": "difficulty must be one of adversarial, easy, hard, medium, got 'brutal'",
    "difficulty=hrad": "got 'hrad'; nearest: hard",
    "difficulty=easy,meduim": "got 'meduim'; nearest: medium",
    "difficulty=null": "difficulty must be one of adversarial, easy, hard, medium, got 'null'",
    "difficulty=[easy,hard]": "difficulty must be one of adversarial, easy, hard, medium, got",
    "trainer=5": "trainer must be one of default, got '5'",
    "difficulty@levels.easy=hard": "a group has one place only; write difficulty=NAME",
    "levels.easy.turn_cap=3": "choose the run's own with difficulty=NAME",
    "level=easy": "choose the run's own with difficulty=NAME",
    "seed=abc": "seed must be a whole number, got 'abc'",
    "seed=1.5": "seed must be a whole number, got '1.5'",
    "seed=null": "seed must be a whole number, got null",
    "seed=": "seed must be a whole number, got ''",
    "algorithm.null_control=maybe": "algorithm.null_control must be true or false, got 'maybe'",
    "algorithm.learning_rate=fast": "algorithm.learning_rate must be a number, got 'fast'",
    "algorithm.std_floor=low": "algorithm.std_floor must be a number or null, got 'low'",
    "difficulty.intentions=praise": "difficulty.intentions must be a list of names, as in [a,b]",
    "difficulty.intentions=[prais]": "got 'prais'; nearest: praise",
    "seed=-1": "seed must lie between 0 and",
    f"seed={10**400}": "seed must lie between 0 and",
    "reward.solution_bias=1.0000001": "must lie between 0 and 1, got 1.0000001",
    "algorithm.group_size=1": (
        "algorithm.group_size must be 2 or more with algorithm.kind=grpo, which compares the "
        "conversations of a group, got 1"
    ),
    "algorithm.learning_rate=nan": "algorithm.learning_rate must lie between 0 and 10000, got nan",
    "algorithm.learning_rate=1e999": "got inf",
    "trainer.steps=0": "trainer.steps must lie between 1 and",
    "trainer.gpus=65": "trainer.gpus must lie between 0 and 64, got 65",
    "difficulty.intentions=[venting,praise,venting]": "difficulty.intentions must name venting "
    "once, got [venting,praise,venting]",
    "eval.levels=[easy,easy]": "eval.levels must name easy once, got [easy,easy]",
    "trainer.ranks=0": "trainer.ranks must lie between 1 and 64, got 0",
    "trainer.conversations=33": "must be a multiple of algorithm.group_size (8), got 33",
    "policy.kind=tabular": "policy.kind is set only by the option, so that results are",
    "curriculum.kind=staged": "choose curriculum=NAME, one of adaptive, mixed, none,",
    "reward.mode=delta": "reward.mode is set only by the option",
    "simulator.kind=served": "simulator.kind is set only by the option",
    "policy.dtype=floot32": "policy.dtype must be one of float32, bfloat16, got 'floot32'; ",
    "seed=range(3,1)": "seed=range(3,1): the sweep is empty",
    "seed=range(1,5,0)": "seed=range(1,5,0): the step of a range must not be 0, got 0",
    "difficulty=glob(x*)": "difficulty=glob(x*): the sweep is empty",
    "seed=1,1": "seed=1,1: the sweep must not repeat a value, got 1 twice",
    "seed=range(0,5000)": "seed=range(0,5000): a sweep must have at most 1000 runs, got a range "
    "with more values",
    "seed=shuffle(range(1,2e9))": "at most 1000 runs, got a range with more values",
    "seed=shuffle(range(0,1,1e-9))": "at most 1000 runs, got a range with more values",
    "seed=shuffle(range(9,-2e9,-1))": "at most 1000 runs, got a range with more values",
    f"seed=range(0,{10**400})": "at most 1000 runs, got a range with more values",
    "seed=shuffle(range(0,inf))": "at most 1000 runs, got a range with more values",
    "seed=shuffle(range(nan,1))": "at most 1000 runs, got a range with more values",
    "seed=shuffle(range(0.5,1,0))": "range(0.5,1,0)): the step of a range must not be 0, got 0",
    "seed=interval(0,1)": "the sweeper takes a,b,c, choice(), range() and glob() only",
    "seed=range(1,": READ,
    "seed=1,": READ,
    "seed": READ,
    "easy": READ,
    "--x=1": READ,
    "difficulty=easy=hard": READ,
    "seed=[1": READ,
    "": READ,
    "+sweeps=difficulty_ladder,seeds": "must name one sweep file",
    "+sweeps=difficulty_laddr": "nearest: difficulty_ladder",
    "+sweeps=../conf/config": "sweeps must be one of a_model_that_speaks, curricula, diff",
    "+sweeps=null": "rewards, seeds, smoke, solution_bias, got 'null'",
    "sweeps=seeds": "write +sweeps=NAME to name a sweep file",
    "hydra.run.dir=x": OWN_KEYS,
    "hydra.sweep.dir=/tmp/x": OWN_KEYS,
    "hydra.job.env_set.A=1": OWN_KEYS,
    "hydra.callbacks.x._target_=os.system": OWN_KEYS,
    "hydra.launcher._target_=os.system": OWN_KEYS,
    "hydra.searchpath=[x]": OWN_KEYS,
    "hydra=1": OWN_KEYS,
    "hydra.sweeper.params={seed:1}": "write the axis as KEY=a,b",
    "hydra/launcher=nope": "hydra/launcher must be one of basic, joblib, local",
    "hydra.launcher.nope=1": "hydra.launcher.nope: the launcher has no such setting",
    "hydra.launcher.n_jobs=many": "hydra.launcher.n_jobs",
    "hydra.launcher.n_jobs=0": "n_jobs: must be a whole number between 1 and 4096, got 0",
    "hydra.launcher.batch_size=0": "batch_size: must be a whole number between 1 and 4096, got",
    "hydra.sweeper.max_batch_size=1": OWN_KEYS,
    "hydra.launcher.n_jobs=null": "hydra.launcher.n_jobs must not be null, got null",
    "hydra.launcher.n_jobs=1,2": "must be one value, since it applies to the whole sweep",
    "hydra/launcher=basic,local": "must be one value, since it applies to the whole sweep",
    "difficulty=choice(easy,hard),medium": "a sweep must not contain another",
    "hydra/sweeper=optuna": OWN_KEYS,
    "difficulty.name=easy": "difficulty.name=easy: difficulty.name is set only by the option",
    "++difficulty.name=easy": "++difficulty.name=easy: difficulty.name is set only by the option",
    "~difficulty.name": "~difficulty.name: difficulty.name is set only by the option",
    "difficulty.name=easy,hard": "choose difficulty=NAME, one of adversarial, easy, hard,",
    "difficulty.name=${oc.env:HOME}": "difficulty.name is set only by the option",
    **{f"{group}.name=x": f"{group}.name is set only by the option" for group in keys.groups()},
    "trainer.grace_s=${oc.env:HOME}": "a value may refer to other keys, but not to a",
    "trainer.steps=${nope}": "Interpolation key 'nope' not found",
    "trainer.steps=${trainer.steps}": "trainer.steps: Recursive interpolation detected",
    "~trainer.steps": "~trainer.steps: only a whole group can be left out, got a key of trainer; "
    "set it, as in trainer.steps=VALUE",
    "~difficulty=hard": "Could not delete 'difficulty=hard'",
}


@pytest.mark.parametrize("word", MISTAKES, ids=lambda word: word or "empty")
def test_a_wrong_word_gets_one_line_that_says_what_to_write(word: str) -> None:
    with pytest.raises(ConfigError) as caught:
        planner.plan([word])
    assert MISTAKES[word] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not GlobalHydra.instance().is_initialized()
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["policy=tabular", "algorithm.max_grad_norm=0.1,1"],
            "algorithm.max_grad_norm: has no effect with policy.kind=tabular; it belongs to "
            "policy.kind=tiny or hf, got 0.1",
        ),
        (
            ["algorithm.clip_high=0.2,0.3"],
            "algorithm.clip_high: has no effect with trainer.updates_per_batch=1, since every "
            "ratio is 1 and nothing is clipped, got 0.2",
        ),
        (
            ["policy=tiny", "policy.model=Qwen/Qwen3-0.6B"],
            "policy.model: has no effect with policy.kind=tiny; it belongs to policy.kind=hf, got "
            "Qwen/Qwen3-0.6B",
        ),
        (
            ["policy=tabular", "policy.lora_rank=8"],
            "policy.lora_rank: has no effect with policy.kind=tabular; it belongs to "
            "policy.kind=hf, got 8",
        ),
        (
            ["policy=qwen3_0_6b", "policy.key_value_heads=3"],
            "policy.key_value_heads must divide policy.attention_heads (16), got 3",
        ),
        (
            ["policy=qwen3_0_6b", "policy.head_size=7"],
            "policy.head_size must be a multiple of 2, got 7",
        ),
        (
            ["algorithm.std_over=batch", "algorithm.std_floor=null"],
            "algorithm.std_over: must be group where algorithm.std_floor is null, since nothing is "
            "divided by it, got batch",
        ),
        (["seed=1", "seed=2"], "seed=2: seed is set twice, first by seed=1"),
        (["seed=1,2", "++seed=3"], "++seed=3: seed is set twice, first by seed=1,2"),
        (["+sweeps=seeds", "+sweeps=smoke"], "sweeps is set twice"),
        (["seed=range(0,100)", "trainer.steps=range(1,100)"], "at most 1000 runs, got 9900"),
        (
            ["+sweeps=difficulty_ladder", "trainer.steps=range(1,151)"],
            "at most 1000 runs, got 1350",
        ),
    ],
)
def test_words_that_contradict_each_other_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        planner.plan(words)
    assert message in str(caught.value)


@pytest.mark.skipif(
    importlib.util.find_spec("hydra_plugins.hydra_submitit_launcher") is not None,
    reason="the extra slurm is installed",
)
def test_a_launcher_whose_plugin_is_missing_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"needs a plugin: pip install .*slurm"):
        planner.plan(["hydra/launcher=slurm"])


KEYS = st.sampled_from(["seed", "difficulty", "trainer.steps", "hydra.job", "+sweeps", "~seed", ""])
VALUES = st.text("abc012,.[]{}()'\"$:=\\ \x1bé\n", max_size=12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.builds("{}={}".format, KEYS, VALUES) | VALUES, min_size=1, max_size=3))
def test_any_words_end_in_a_plan_or_in_one_line(words: list[str]) -> None:
    try:
        names = planner.plan(words).names
    except ConfigError as error:
        names = (str(error),)
    assert len(names) == len(set(names)) > 0
    assert all(name.isprintable() and name for name in names)


@pytest.mark.parametrize(("value", "given"), [("3", "3"), ("[1]", "[1]"), ("", "null")])
def test_a_file_whose_options_are_no_mapping_is_named_with_the_rule(value: str, given: str) -> None:
    rule = f"algorithm.options must be a mapping of keys to values, got {given}"
    Path("conf/algorithm").mkdir(parents=True)
    option, sweep = Path("conf/algorithm/mine.yaml"), Path("sweeps/mine.yaml")
    option.write_text(f"defaults: [grpo, _self_]\nname: mine\noptions: {value}\n")
    sweep.parent.mkdir()
    sweep.write_text(f"# @package _global_\nalgorithm:\n  options: {value}\n")
    for word, file in (("algorithm=mine", option), ("+sweeps=mine", sweep)):
        with pytest.raises(ConfigError) as caught:
            planner.plan([word])
        assert str(caught.value) == f"{file.resolve()}: {rule}"
