"""List the column names that programs use for step, policy entropy and training reward.

The first name of a tuple that a log has is used, and the row of law.json records it. Entropies of
different programs are different estimators: they differ in tokens, temperature and weights.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnAliases:
    """The column names of one program, in order of preference."""

    entropy: tuple[str, ...]
    reward: tuple[str, ...]
    step: tuple[str, ...] = ()
    """Names in addition to `step`, which all programs use."""


PROGRAMS: Mapping[str, ColumnAliases] = {
    "TRL, and this project": ColumnAliases(("entropy",), ("reward",)),
    "TRL, through a tracker": ColumnAliases(
        ("train/entropy",), ("train/reward",), ("train/global_step",)
    ),
    "verl": ColumnAliases(
        ("actor/entropy", "actor/entropy_loss"),
        ("critic/score/mean", "critic/rewards/mean"),
        ("training/global_step",),
    ),
    "prime-rl": ColumnAliases(
        ("entropy/all/mean",),
        ("reward/all/mean", "train/agg/effective/reward/mean", "train/agg/all/reward/mean"),
    ),
    "open-instruct": ColumnAliases(
        ("policy/entropy_avg",), ("scores", "objective/scores"), ("training_step",)
    ),
    "NeMo-RL": ColumnAliases(("train/approx_entropy", "approx_entropy"), ("train/reward",)),
    "SkyRL": ColumnAliases(
        ("policy/policy_entropy", "policy_entropy"),
        ("reward/avg_raw_reward", "loss/avg_final_rewards"),
        ("trainer/global_step",),
    ),
    "slime": ColumnAliases(("train/entropy_loss", "entropy_loss"), ("rollout/raw_reward",)),
}
STEP = ("step", *dict.fromkeys(n for p in PROGRAMS.values() for n in p.step), "global_step")
STEPS = (*STEP, "_step")
"""`_step`, a tracker's count of its own calls, is used only if the program logged no step."""
ENTROPIES = tuple(dict.fromkeys(n for p in PROGRAMS.values() for n in p.entropy))
REWARDS = tuple(dict.fromkeys(n for p in PROGRAMS.values() for n in p.reward))
EVALUATIONS = ("eval/", "eval_", "val/", "val-", "validation/")
"""Prefixes of columns with values at some steps only, in which an empty cell is no damage."""


def first_accepted(names: Collection[str], accepted: tuple[str, ...]) -> str | None:
    """Return the first accepted name that a log has; None if it has none."""
    return next((name for name in accepted if name in names), None)
