"""Critique-GRPO of language models over whole runs: what may be told, plans, estimates, rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.compose import planner
from harness.config.run import INTENTIONS, RemedyConfig, RunConfig
from harness.config.simulator import SimulatorConfig
from harness.errors import ConfigError
from harness.policy.tabular import TabularPolicy
from harness.simulator.intention_lines import NEEDS
from harness.simulator.scripted.lines import is_phrase
from harness.train.loop.language_refinement import heard_as
from harness.train.memory import conversation_memory, estimate
from harness.train.rollout import critiques, curriculum, refinement
from harness.train.rollout.batch import rng_of, rollout_groups
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.rewards import compute_rewards
from harness.train.rollout.tabular_speaker import TabularSpeaker
from tests.train.critiqued import KINDS, NO_BONUS, POLICY, config
from tests.train.made import LEVELS, rows_of, tabular
from tests.train.made_ranks import assert_close, trained


@pytest.fixture(scope="module")
def talks() -> list[tuple[RunConfig, list[Conversation]]]:
    """Conversations of the tabular start policy on all levels, with both users of this process."""
    made = []
    for kind in ("scripted", "second"):
        for level in (LEVELS.easy, LEVELS.medium, LEVELS.hard):
            given = replace(
                tabular(level, conversations=48), simulator=SimulatorConfig(name=kind, kind=kind)
            )
            speaker = TabularSpeaker(TabularPolicy.start("conversation"), 1.0, rng_of(given, 1, 1))
            made.append((given, rollout_groups(curriculum.begin(given, None), speaker, 1)))
    return made


@pytest.mark.parametrize("in_english", [False, True])
@pytest.mark.parametrize("critique", KINDS)
def test_no_critique_speaks_of_what_the_user_came_for(
    talks: list[tuple[RunConfig, list[Conversation]]], critique: str, in_english: bool
) -> None:
    needs = [line for table in NEEDS.values() for some in table.values() for line in some]
    for given, conversations in talks:
        if critique == "reason" and given.simulator.kind != "scripted":
            continue
        rewards = compute_rewards(conversations, given.reward).total
        cuts = refinement.cuts_of(conversations, rewards, [heard_as(c) for c in conversations], 8)
        assert cuts
        for cut in cuts:
            one = conversations[cut.conversation]
            told = critiques.critique_text(critique, one, cut.reply, cut.played, in_english)
            assert (told == "") == (critique == "none") or not in_english
            quoted = one.exchanges[cut.reply].reply.text
            words = told.replace(quoted, "")
            assert not any(need in words for need in needs)
            if critique != "reaction":  # where `advice` is what users call a reply
                assert not any(name in words for name in INTENTIONS)


def test_tiny_is_told_in_the_words_of_users() -> None:
    fixed = [*critiques.SPOKEN.values(), critiques.COST_MOST]
    assert all(is_phrase(line) for line in fixed if line)
    assert set(critiques.SPOKEN) | {"worth", "fatigue"} == set(critiques.NOTES)


def test_what_a_critique_needs_is_in_the_estimates() -> None:
    plain, told = config("none"), config("reason")
    assert conversation_memory.told_tokens(plain) == 0
    note = conversation_memory.NOTE_TOKENS
    assert conversation_memory.told_tokens(told) == POLICY.max_turn_tokens + note
    sizes = [estimate.phases(given, None)[0].parts["keys and values"] for given in (plain, told)]
    assert sizes[0] == sizes[1]  # a quarter of the conversations, which the batch's have room for


def test_the_first_row_speaks_of_what_the_policy_did_untold(tmp_path: Path) -> None:
    """R, H and kl of the first batch are those of grpo's; what is learnt from is another."""
    rows = {
        kind: rows_of(tmp_path / kind, config(kind=kind, steps=1))[0]
        for kind in ("grpo", "critique_grpo")
    }
    for column in ("reward", "entropy", "entropy/t1", "kl", "turns/mean", "emotion/final"):
        assert rows["critique_grpo"][column] == pytest.approx(rows["grpo"][column], abs=1e-6)
    assert rows["critique_grpo"]["cov/mean"] != rows["grpo"]["cov/mean"]
    assert rows["critique_grpo"]["refined/replies"] > 0
    assert rows["grpo"]["refined/replies"] is None


@pytest.mark.slow
def test_a_run_does_not_depend_on_whether_they_were_measured_beforehand(tmp_path: Path) -> None:
    rows = [
        rows_of(tmp_path / remedy.name, replace(config(updates_per_batch=2), remedy=remedy))
        for remedy in (RemedyConfig(), NO_BONUS)
    ]
    for one, other in zip(*rows, strict=True):
        assert one["refined/replies"] > 0
        for column in set(one) - {"remedy/acted", "entropy_coef", "seconds", "crc32"}:
            assert one[column] == other[column], column


@pytest.mark.slow
def test_two_ranks_give_the_numbers_of_one(tmp_path: Path) -> None:
    one, two = (
        trained(tmp_path / str(ranks), config(ranks=ranks, steps=3, updates_per_batch=2))
        for ranks in (1, 2)
    )
    assert_close(two, one)


@pytest.mark.parametrize(
    "words",
    [
        ("policy=tiny_smoke", "remedy=entropy_bonus", "curriculum=reverse"),
        ("policy=tiny", "remedy=dynamic_sampling", "algorithm.options.critique=none"),
        ("policy=smollm2_135m", "remedy=clip_b", "reward=mixed"),
        ("policy=tiny", "simulator=served", "algorithm.options.critique=reaction"),
    ],
)
def test_it_is_planned_with(words: tuple[str, ...]) -> None:
    (point,) = planner.plan(["algorithm=critique_grpo", *words]).points
    assert point.config.algorithm.kind == "critique_grpo"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("policy=tiny", "simulator=served"),
            "algorithm.options.critique must not be reason with simulator.kind=served, whose "
            "appraisals have no parts for a strategy, got reason",
        ),
        (
            ("policy=tiny", "remedy=kl_cov"),
            "remedy.methods.kl_cov must go with an algorithm that has a ratio, since it shapes it, "
            "got algorithm.kind=critique_grpo",
        ),
        (
            ("policy=tiny", "curriculum=adaptive"),
            "curriculum.kind must be none or reverse with algorithm.kind=critique_grpo, whose "
            "conversations are taken over at the run's own level, got adaptive",
        ),
    ],
)
def test_it_is_refused_with(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        planner.plan(["algorithm=critique_grpo", *words])
    assert str(error.value) == said
