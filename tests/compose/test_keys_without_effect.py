"""Keys without effect: refused where no run of the sweep uses them, and two runs alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.compose import planner
from harness.errors import ConfigError
from harness.testing.commands import here


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(*words: str) -> str:
    with pytest.raises(ConfigError) as caught:
        planner.plan(words)
    return str(caught.value)


def test_a_sweep_of_keys_that_tiny_does_not_have_exits_2(tmp_path: Path) -> None:
    words = ("policy=tiny", "policy.architecture=qwen3,llama", "policy.feed_forward_size=64,512")
    for chosen in (words, (words[0], words[2])):
        done = here("sweep", *chosen, cwd=tmp_path)
        key = "architecture" if chosen is words else "feed_forward_size"
        value = "qwen3" if chosen is words else "64"
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"harness: policy.{key}: has no effect with policy.kind=tiny; it belongs to "
            f"policy.kind=hf, got {value}\n"
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["policy=tabular", "policy.max_turn_tokens=16"], "policy.max_turn_tokens"),
        (["policy=tabular", "algorithm.adam_beta1=0.5"], "algorithm.adam_beta1"),
        (["policy=qwen3_0_6b", "policy.lora_alpha=64"], "policy.lora_alpha"),
        (["simulator.concurrency=8"], "simulator.concurrency"),
        (["curriculum=staged", "curriculum.target=0.6"], "curriculum.target"),
        (["curriculum.medium_from=5"], "curriculum.medium_from"),
        (["reward=turns", "reward.mix=0.5"], "reward.mix"),
        (["trainer.engine=transformers", "trainer.gpu_memory_share=0.5"], "trainer.gpu_memory"),
        (["trainer.runs_per_gpu=4"], "trainer.runs_per_gpu"),
        (["algorithm.clip_low=0.1"], "algorithm.clip_low"),
    ],
)
def test_a_word_that_changes_no_run_is_refused(words: list[str], key: str) -> None:
    said = refusal(*words)
    assert said.startswith(key)
    assert ": has no effect with " in said


def test_a_key_that_one_kind_of_the_sweep_uses_is_taken() -> None:
    served = ["simulator=scripted,served", "simulator.model=mine"]
    models = [point.config.simulator.model for point in planner.plan(served).points]
    assert models == ["mine", "mine"]
    assert len(planner.plan(["policy=tabular,tiny", "policy.max_turn_tokens=16"]).points) == 2


def test_runs_that_differ_in_unused_keys_alone_are_the_same() -> None:
    assert refusal("policy=tabular,tiny", "policy.max_turn_tokens=16,24") == (
        "runs 0 and 1 of the sweep are the same: policy=tabular policy.max_turn_tokens=24; "
        "policy.max_turn_tokens has no effect with policy.kind=tabular; it belongs to "
        "policy.kind=tiny or hf"
    )


@pytest.mark.parametrize(
    ("word", "axis", "why"),
    [
        ("trainer.eval_every=0", "eval.users=4,8", "which leaves out all evaluations"),
        ("trainer.eval_every=0", "eval.deaf=True,False", "which leaves out all evaluations"),
        ("eval.prefixes=0", "eval.ledger=True,False", "since it splits what is measured on"),
    ],
)
def test_runs_that_differ_in_how_nothing_is_evaluated_are_the_same(
    word: str, axis: str, why: str
) -> None:
    key = axis.partition("=")[0]
    said = refusal("policy=tabular", word, axis)
    assert said.startswith("runs 0 and 1 of the sweep are the same: policy=tabular ")
    assert f"; {key} has no effect with {word}, {why}" in said
    assert len(planner.plan(["policy=tabular", word, axis.partition(",")[0]]).points) == 1
    assert len(planner.plan(["policy=tabular", axis]).points) == 2


def test_runs_that_differ_in_a_clip_that_a_remedy_replaces_are_the_same() -> None:
    words = ("policy=tabular", "trainer.updates_per_batch=2", "remedy=none,clip_higher")
    twice = "policy=tabular trainer.updates_per_batch=2 remedy=clip_higher algorithm.clip_high=0.3"
    assert refusal(*words, "algorithm.clip_high=0.2,0.3") == (
        f"runs 2 and 3 of the sweep are the same: {twice}; algorithm.clip_high has no effect with "
        "remedy.methods.clip_higher, which replaces the clip"
    )
    assert len(planner.plan([*words, "algorithm.clip_high=0.3"]).points) == 2
    weighs = "remedy=none,reference_kl"
    assert len(planner.plan([*words[:2], weighs, "algorithm.clip_high=0.2,0.3"]).points) == 4


def test_an_option_may_state_keys_for_policies_that_this_sweep_does_not_have() -> None:
    Path("conf/algorithm").mkdir(parents=True)
    text = "defaults: [grpo, _self_]\nname: mine\nadam_beta1: 0.5\n"
    Path("conf/algorithm/mine.yaml").write_text(text, encoding="utf-8")
    (point,) = planner.plan(["policy=tabular", "algorithm=mine"]).points
    assert point.config.algorithm.adam_beta1 == 0.5
