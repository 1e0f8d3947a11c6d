"""The size of an evaluation: its users, levels, repeats and lengths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from harness.config import ranges
from harness.config.difficulty import LEVELS, MAX_TURNS, TEMPERAMENTS
from harness.config.ranges import Between, ByOption, OneOf, Only, SomeOf, Unit


@dataclass(frozen=True)
class EvalConfig:
    """The evaluation with held-out users. trainer.eval_every says when it is due."""

    name: Annotated[str, ByOption()] = "default"
    """Name of the evaluation's option."""
    users: Annotated[int, Between(2, 1_000_000), Unit("users")] = 64
    """Held-out users at each level. The first n are the same in every run, whatever the number.
    Options of language models set 24, policy=smollm2_135m 12."""
    levels: Annotated[list[str], SomeOf(LEVELS, may_be_empty=True)] = field(
        default_factory=lambda: list(LEVELS)
    )
    """Named levels to evaluate at, beside the run's own level, which always is. The columns of
    the others are null."""
    repeats: Annotated[int, Between(1, 1000), Unit("conversations")] = 1
    """Conversations with each user, each with draws of its own."""
    deaf: bool = True
    """Hold every conversation again with a policy that hears another user's words (deaf_reward)."""
    at_start: bool = True
    """Evaluate at step 1, before anything is learnt."""
    prefixes: Annotated[int, Between(0, 64), Unit("prefixes")] = 64
    """Frozen prefixes of the probe of entropy (entropy/probe): half openings, half in
    mid-conversation, the first of each. 0 for no probe."""
    ledger: Annotated[bool, Only("policy.kind", ("tabular",))] = True
    """Split each change of entropy/probe into what signal, noise and remedies did (ledger/*)."""
    ledger_draws: Annotated[
        int, Between(0, 15), Unit("draws"), Only("policy.kind", ("tiny", "hf"))
    ] = 0
    """Draws by which a language model's ledger (ledger/*) measures noise at each evaluation, one
    less than the groups of a batch at most. 0: no ledger."""
    adapts_to: Annotated[str | None, OneOf(TEMPERAMENTS), Only("policy.kind", ("tabular",))] = None
    """Temperament, best one that difficulty.temperaments lacks, whose held-out users are met before
    and after one step on a batch of training users of it, with a copy of the policy (adapt/*).
    null: none."""
    turn_cap: Annotated[int | None, Between(1, MAX_TURNS), Unit("replies")] = None
    """Maximum number of replies in a conversation of an evaluation. null: each level's own."""

    def __post_init__(self) -> None:
        ranges.check("eval", self)
