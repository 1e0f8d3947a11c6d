"""Names that each program has for the step, the policy's entropy and the training reward.

The first name of a tuple that a log has is taken, and the row of law.json says which. Entropies
of different programs are different estimators: over which tokens, at which temperature and on
which weights is theirs to say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """One program's names, its best one first."""

    entropy: tuple[str, ...]
    reward: tuple[str, ...]
    step: tuple[str, ...] = ()
    """Beside `step`, which they all use somewhere."""


PROGRAMS: Mapping[str, Names] = {
    "TRL, and this project": Names(("entropy",), ("reward",)),
    "TRL, through a tracker": Names(("train/entropy",), ("train/reward",), ("train/global_step",)),
    "verl": Names(
        ("actor/entropy", "actor/entropy_loss"),
        ("critic/score/mean", "critic/rewards/mean"),
        ("training/global_step",),
    ),
    "prime-rl": Names(
        ("entropy/all/mean",),
        ("reward/all/mean", "train/agg/effective/reward/mean", "train/agg/all/reward/mean"),
    ),
    "open-instruct": Names(
        ("policy/entropy_avg",), ("scores", "objective/scores"), ("training_step",)
    ),
    "NeMo-RL": Names(("train/approx_entropy", "approx_entropy"), ("train/reward",)),
    "SkyRL": Names(
        ("policy/policy_entropy", "policy_entropy"),
        ("reward/avg_raw_reward", "loss/avg_final_rewards"),
        ("trainer/global_step",),
    ),
    "slime": Names(("train/entropy_loss", "entropy_loss"), ("rollout/raw_reward",)),
}
STEP = ("step", *dict.fromkeys(n for p in PROGRAMS.values() for n in p.step), "global_step")
"""Last, a tracker's own count of its calls: only where a program gave it no step."""
STEPS = (*STEP, "_step")
ENTROPIES = tuple(dict.fromkeys(n for p in PROGRAMS.values() for n in p.entropy))
REWARDS = tuple(dict.fromkeys(n for p in PROGRAMS.values() for n in p.reward))
EVALUATIONS = ("eval/", "eval_", "val/", "val-", "validation/")
"""Beginnings of columns that hold a number only at some steps: an empty cell is no damage."""


def first(names: Collection[str], accepted: tuple[str, ...]) -> str | None:
    """The name that is taken; None where a log has none of those known."""
    return next((name for name in accepted if name in names), None)
