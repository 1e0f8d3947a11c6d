"""What the evaluations of a shipped option cost: at most half of the steps of its run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.compose import planner
from harness.config.run import LEVELS, RunConfig
from harness.config.trainer import EVALUATIONS
from harness.train.metrics import evaluate
from harness.train.metrics.held_out import meetings

CONF = Path(__file__).parents[2] / "conf"
LANGUAGE = sorted(path.stem for path in (CONF / "policy").glob("*.yaml") if path.stem != "tabular")
MOST = 0.5
LENGTHS = (100, 119, 300)
"""Steps: the default; the most that are evaluated at every 5th; three times the default."""


def planned(policy: str) -> list[RunConfig]:
    """A run of the option at each named level."""
    model = ["policy.model=OWNER/NAME", f"policy.revision={40 * '0'}"] if policy == "hf" else []
    words = [f"policy={policy}", f"difficulty={','.join(LEVELS)}", *model]
    return [point.config for point in planner.plan(words).points]


def evaluations(config: RunConfig) -> int:
    """Evaluations of a run."""
    return sum(evaluate.is_due(step, config) for step in range(1, config.trainer.steps + 1))


def conversations(config: RunConfig) -> float:
    """What an evaluation comes to in conversations: users, deaf ones, and the probe's replies, a
    conversation's worth each.
    """
    return len(meetings(config)) * (1 + config.eval.deaf) + (
        config.eval.prefixes / config.difficulty.turn_cap
    )


@pytest.mark.parametrize("policy", LANGUAGE)
def test_evaluations_cost_at_most_half_of_the_steps(policy: str) -> None:
    configs = planned(policy)
    assert [config.difficulty.name for config in configs] == list(LEVELS)
    for config in configs:
        for steps in LENGTHS:
            run = replace(config, trainer=replace(config.trainer, steps=steps))
            trained = steps * run.trainer.conversations
            assert evaluations(run) * conversations(run) <= MOST * trained
            assert evaluations(run) >= EVALUATIONS


def test_a_default_run_of_tiny_is_evaluated_with_152_conversations_every_fifth_step() -> None:
    for config in planned("tiny"):
        # 24 users at 3 levels, heard and deaf; 64 prefixes of a reply each, 8 to a conversation
        assert conversations(config) == 24 * 3 * 2 + 64 / 8 == 152
        assert (config.trainer.steps, evaluations(config)) == (100, 21)
        assert 21 * 152 / (100 * config.trainer.conversations) == 0.49875


def test_every_language_option_is_covered() -> None:
    assert {"tiny", "tiny_smoke", "hf", "smollm2_135m", "qwen2_5_7b"} <= set(LANGUAGE)
    assert {planned(name)[0].policy.kind for name in ("tabular", "tiny", "hf")} == {
        "tabular", "tiny", "hf",
    }  # fmt: skip
