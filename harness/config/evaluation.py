"""The size of an evaluation: its users, levels, repeats and lengths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from harness.config import ranges
from harness.config.difficulty import LEVELS, MAX_TURNS, TEMPERAMENTS
from harness.config.ranges import Between, ByOption, OneOf, Only, SomeOf, Unit


@dataclass(frozen=True)
class EvalConfig:
    """The evaluation with held-out users, every trainer.eval_every steps."""

    name: Annotated[str, ByOption()] = "default"
    """Name of the evaluation option."""
    users: Annotated[int, Between(2, 1_000_000), Unit("users")] = 64
    """Number of held-out users at each level. Runs with different numbers share their first users.
    Options of language models set 24, policy=smollm2_135m 12."""
    levels: Annotated[list[str], SomeOf(LEVELS, may_be_empty=True)] = field(
        default_factory=lambda: list(LEVELS)
    )
    """Named levels to evaluate at, in addition to the run's own level. The columns of the others
    are null."""
    repeats: Annotated[int, Between(1, 1000), Unit("conversations")] = 1
    """Conversations with each user, each with its own random draws."""
    deaf: bool = True
    """Repeat every conversation with a policy that hears another user's words (deaf_reward)."""
    at_start: bool = True
    """Evaluate at step 1, before the first update."""
    prefixes: Annotated[int, Between(0, 64), Unit("prefixes")] = 64
    """Frozen conversation prefixes on which entropy/probe is measured: half openings, half
    mid-conversation, the first of each. 0: no probe."""
    ledger: Annotated[bool, Only("policy.kind", ("tabular",))] = True
    """Split each change of entropy/probe into the effects of signal, noise and remedies
    (ledger/*)."""
    ledger_draws: Annotated[
        int, Between(0, 15), Unit("draws"), Only("policy.kind", ("tiny", "hf"))
    ] = 0
    """Random draws by which a language model's ledger (ledger/*) measures noise at each evaluation;
    at most the number of groups in a batch minus 1. 0: no ledger."""
    adapts_to: Annotated[str | None, OneOf(TEMPERAMENTS), Only("policy.kind", ("tabular",))] = None
    """Temperament to measure adaptation to (adapt/*): its held-out users are met before and after
    one training step of a copy of the policy on users of it. Best one that difficulty.temperaments
    lacks. null: none."""
    turn_cap: Annotated[int | None, Between(1, MAX_TURNS), Unit("replies")] = None
    """Maximum number of replies in an evaluation conversation. null: each level's own."""

    def __post_init__(self) -> None:
        ranges.check("eval", self)
