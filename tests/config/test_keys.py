"""Every declared range and kind, over all fields: its edges, one step beyond, other kinds."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.compose import plan
from harness.compose.plan import Point
from harness.config import keys
from harness.config.keys import Key
from harness.config.ranges import Address, Between, OneOf, SomeOf
from harness.config.run import (
    AlgorithmConfig,
    CurriculumConfig,
    PolicyConfig,
    RewardConfig,
    RunConfig,
    SimulatorConfig,
    TrainerConfig,
)
from harness.errors import ConfigError
from harness.records import config_file
from harness.utils import extensions

PARTS: dict[str, Any] = {"": RunConfig, **keys.parts(RunConfig)}
RANGES = [key for key in keys.keys().values() if isinstance(key.rule, Between)]
CHOICES = [key for key in keys.keys().values() if isinstance(key.rule, OneOf)]
LISTS = [key for key in keys.keys().values() if isinstance(key.rule, SomeOf)]
CONDITIONAL = [key for key in keys.keys().values() if key.conditions]


def refusal(key: Key, value: Any) -> str:
    """The sentence with which the key's class refuses the value; empty if it takes it."""
    try:
        PARTS[key.group](**{key.field: value})
    except ConfigError as error:
        return str(error)
    return ""


def beyond(key: Key, edge: float, step: int) -> float:
    return edge + step if key.type in (int, int | None) else math.nextafter(edge, step * math.inf)


@pytest.mark.parametrize("key", RANGES, ids=lambda key: key.name)
def test_the_edges_of_a_range_are_in_it_and_one_step_beyond_is_not(key: Key) -> None:
    assert isinstance(key.rule, Between)
    out_of_range = f"{key.name} must lie between"
    for edge, step in ((key.rule.low, -1), (key.rule.high, 1)):
        assert not refusal(key, edge).startswith((out_of_range, f"{key.name} must be a multiple"))
        assert refusal(key, beyond(key, edge, step)).startswith(out_of_range)
    for value in (math.nan, math.inf, -math.inf):
        assert refusal(key, value).startswith(out_of_range)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_within_a_range_only_a_rule_about_several_keys_refuses(data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(RANGES))
    assert isinstance(key.rule, Between)
    value = data.draw(within(key))
    assert not refusal(key, value).startswith(f"{key.name} must lie")
    outside = data.draw(st.integers(1, 10**9))
    assert refusal(key, key.rule.high + outside).startswith(f"{key.name} must lie")
    assert refusal(key, key.rule.low - outside).startswith(f"{key.name} must lie")


@pytest.mark.parametrize("key", CHOICES, ids=lambda key: key.name)
def test_a_choice_takes_its_values_and_no_other(key: Key) -> None:
    assert isinstance(key.rule, OneOf)
    for value in key.rule.values:
        assert not refusal(key, value).startswith(f"{key.name} must be one of")
    wrong = "nothing" if key.type is str else 7
    assert refusal(key, wrong).startswith(f"{key.name} must be ")
    assert f", got {wrong!r}" in refusal(key, wrong)


@pytest.mark.parametrize("key", LISTS, ids=lambda key: key.name)
def test_a_list_takes_its_names_and_no_other(key: Key) -> None:
    assert isinstance(key.rule, SomeOf)
    assert refusal(key, list(key.rule.names)) == ""
    assert refusal(key, [key.rule.names[0], "nothing"]).startswith(f"{key.name} must be one of")
    assert bool(refusal(key, [])) != key.rule.may_be_empty


def test_every_number_has_a_range_and_every_default_is_in_its_own() -> None:
    numbers = (int, float, int | None, float | None)
    every = keys.keys().values()
    assert [key.name for key in every if key.type in numbers and key.rule is None] == []
    assert [key.name for key in every if refusal(key, key.default)] == []


USED = {
    "policy=tabular": "observation prior_temperature temperature warm_start_strategies",
    "policy=tiny": "temperature max_turn_tokens dtype hidden_size layers attention_heads vocabulary"
    " start_model warm_start_copy_steps warm_start_steps warm_start_learning_rate"
    " warm_start_strategies warm_start_retold",
    "policy=hf": "temperature max_turn_tokens model revision init system_prompt thinking dtype"
    " attention lora_rank start_model gradient_checkpointing architecture hidden_size layers"
    " attention_heads key_value_heads head_size feed_forward_size tied_head vocabulary",
    "simulator=scripted": "profiles reader typicality_cut",
    "simulator=lm": "profiles reader reader_model reader_head typicality_cut",
    "simulator=served": "base_url model api_key_env deadline_s concurrency requests_per_minute"
    " tokens_per_minute retries backoff_s temperature max_tokens outage_s profiles",
    "curriculum=none": "",
    "curriculum=staged": "medium_from hard_from",
    "curriculum=adaptive": "target sensitivity rate",
    "curriculum=mixed": "weight_easy weight_medium weight_hard",
    "curriculum=reverse": "start_share whole_from",
    "reward=terminal": "solution_bias",
    "reward=delta": "solution_bias",
    "reward=turns": "solution_bias return_mix",
    "reward=mixed": "solution_bias mix return_mix",
    "reward=ctc": "solution_bias credit return_mix",
    "reward=warmth": "solution_bias",
    "reward=alliance": "solution_bias",
    "reward=x": "solution_bias options",
    "simulator=x": "options",
}
"""The keys that a kind's code reads, by kind."""
with extensions.registered("reward", "x", 0), extensions.registered("simulator", "x", 0):
    OF_PLUG_INS = RunConfig(reward=RewardConfig("x", "x"), simulator=SimulatorConfig("x", "x"))
KINDS = {
    **{f"policy={kind}": RunConfig(policy=PolicyConfig(kind, kind)) for kind in ("tiny", "hf")},
    "policy=tabular": RunConfig(policy=PolicyConfig("tabular", "tabular")),
    **{
        f"simulator={kind}": RunConfig(simulator=SimulatorConfig(kind, kind))
        for kind in ("scripted", "served")
    },
    "simulator=lm": RunConfig(simulator=SimulatorConfig(reader="lm", reader_model="x")),
    **{
        f"curriculum={kind}": RunConfig(curriculum=CurriculumConfig(kind, kind))
        for kind in ("none", "staged", "adaptive", "mixed", "reverse")
    },
    **{
        f"reward={mode}": RunConfig(reward=RewardConfig(mode, mode))
        for mode in ("terminal", "delta", "turns", "warmth", "alliance")
    },
    "reward=ctc": RunConfig(reward=RewardConfig("ctc", "ctc", credit=15.0)),
    "reward=mixed": RunConfig(reward=RewardConfig("mixed", "mixed", mix=0.5)),
    **{
        f"algorithm={kind}": RunConfig(algorithm=AlgorithmConfig(kind, kind))
        for kind in ("dr_grpo", "lite_ppo", "reinforce")
    },
    "trainer.engine=transformers": RunConfig(trainer=TrainerConfig(engine="transformers")),
}


@pytest.mark.parametrize("kind", USED)
def test_a_kind_uses_its_own_keys(kind: str) -> None:
    group, config = kind.partition("=")[0], KINDS.get(kind, OF_PLUG_INS)
    used = {
        key.field
        for key in keys.keys().values()
        if key.group == group and not key.by_option and not keys.no_effect(config, key)
    }
    assert used == set(USED[kind].split())


def within(key: Key) -> st.SearchStrategy[Any]:
    """Values that the rule of the key allows."""
    rule = key.rule
    if isinstance(rule, Between) and key.type in (int, int | None):
        low, high = -(-int(rule.low) // rule.multiple_of), int(rule.high) // rule.multiple_of
        return st.integers(low, high).map(lambda number: number * rule.multiple_of)
    if isinstance(rule, Between):
        return st.floats(rule.low, rule.high)
    if isinstance(rule, OneOf):
        return st.sampled_from(rule.values)
    if isinstance(rule, SomeOf):
        return st.lists(st.sampled_from(rule.names), min_size=1, unique=True)
    if isinstance(rule, Address):
        return st.sampled_from(["http://localhost:1", "https://host/v1"])
    return st.booleans() if key.type is bool else st.sampled_from(["ONE_KEY", "A_KEY"])


def changed(config: RunConfig, key: Key, value: Any) -> RunConfig:
    part = dataclasses.replace(getattr(config, key.group), **{key.field: value})
    return dataclasses.replace(config, **{key.group: part})


def planned(config: RunConfig, name: str, value: Any) -> str:
    """The sentence that refuses a run of `config` of which a word sets one key; empty if none."""
    try:
        plan.build([Point((f"{name}={value}",), {name: value}, config)], [])
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("key", CONDITIONAL, ids=lambda key: key.name)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_a_key_is_refused_in_every_kind_but_its_own(key: Key, data: st.DataObject) -> None:
    value = data.draw(within(key))
    assume(value != key.default)
    for config in KINDS.values():
        try:
            run = changed(config, key, value)
        except ConfigError:  # a rule about several keys, which comes first
            continue
        reason = keys.no_effect(run, key)
        assert planned(run, key.name, value) == (
            f"{key.name}: {reason}, got {value}" if reason else ""
        )


def test_no_conditional_key_is_used_by_every_kind_or_by_none() -> None:
    configs = [
        *KINDS.values(),
        OF_PLUG_INS,
        RunConfig(trainer=TrainerConfig(updates_per_batch=2)),
        RunConfig(trainer=TrainerConfig(gpus=1)),
        RunConfig(policy=PolicyConfig("hf", "hf", lora_rank=8)),
    ]
    for key in CONDITIONAL:
        assert {keys.no_effect(config, key) is None for config in configs} == {True, False}


def test_a_config_file_that_is_older_or_newer_is_told_by_its_keys() -> None:
    values = config_file.to_dict(RunConfig())
    assert keys.compare_keys(values) == keys.KeyDifference((), {})
    del values["trainer"]["grace_s"], values["levels"]["easy"]["clamp"]
    values["trainer"]["patience"] = 3
    values["mood"] = {"start": 1}
    values["remedy"]["methods"] = {"clip_cov": {"share": 0.1}}
    assert keys.compare_keys(values) == keys.KeyDifference(
        ("trainer.patience", "mood.start"), {"levels.easy.clamp": 10, "trainer.grace_s": 30.0}
    )
    del values["policy"]
    lacking = keys.compare_keys(values).lacking
    assert {name for name in lacking if name.startswith("policy.")} == {
        f"policy.{field.name}" for field in dataclasses.fields(PolicyConfig)
    }


def test_a_run_of_an_older_version_that_has_a_key_without_effect_is_read() -> None:
    values = config_file.to_dict(RunConfig())
    values["policy"]["feed_forward_size"] = 512
    run = config_file.from_dict(values)
    assert run.policy.feed_forward_size == 512
    assert config_file.to_dict(run) == values
    assert keys.used_values(run) == keys.used_values(RunConfig())
