"""The difficulty of the simulated user, and the vocabulary of users and supporters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from harness.config import ranges
from harness.config.ranges import Between, ByOption, OneOf, Only, SomeOf, Unit
from harness.errors import ConfigError

INTENTIONS = (
    "praise",  # sincerely praise my specific actions
    "not_at_fault",  # agree that I am not at fault
    "venting",  # listen to my venting attentively
    "deep_empathy",  # deep empathy, not plain comfort
    "advice",  # advice that truly solves my difficulty
    "dialectic",  # look at the problem from several sides
    "growth",  # guide me to self-reflection and growth
    "motives",  # analyse why the others acted so
)
"""Eight hidden intentions, four emotional, then four rational (arXiv 2507.03112, Table 5)."""

STRATEGIES = (
    "question",
    "restate",
    "reflect",
    "disclose",
    "affirm",
    "suggest",
    "inform",
    "other",
)
"""ESConv's eight strategies of a supporter's reply (arXiv 2106.01144, section 3)."""

MAX_TURNS = 20
"""The largest turn_cap: no conversation has more replies."""

SCRIPTED = Only("simulator.kind", ("scripted",))
EMOTIONAL_INTENTIONS = INTENTIONS[:4]
TEMPERAMENTS = ("negative", "passive", "avoidant")
DISCLOSURES = ("free", "hint", "never")
ACCEPTANCES = ("any_kindness", "reasonable", "goal_fit")
PATHS = ("gaslighting", "escalation", "validation")
"""Adversarial paths: the three of AEB's six (arXiv 2605.07138) that its abstract names."""
LEVELS = ("easy", "medium", "hard")
"""The levels that every run can be evaluated at."""
SHIPPED_LEVELS: Mapping[str, tuple[str, ...]] = {
    "scripted": (*LEVELS, "adversarial"),
    "second": LEVELS,
}
"""Simulator -> levels whose cards are shipped. Only runs that train on `adversarial` meet it."""


@dataclass(frozen=True)
class DifficultyConfig:
    """The difficulty of the simulated user."""

    name: Annotated[str, ByOption()] = "medium"
    """Name of the level, as shown in results."""
    start_emotion: Annotated[int, Between(5, 95, multiple_of=5), Unit("points")] = 40
    """Emotion (0 to 100) at the start of a conversation. RLVER evaluates from 40."""
    disclosure: Annotated[str, OneOf(DISCLOSURES)] = "hint"
    """How openly the user shows the hidden intention: states it (free), hints at it (hint) or does
    not show it (never)."""
    acceptance: Annotated[str, OneOf(ACCEPTANCES)] = "reasonable"
    """Weight of a reply's fit to the hidden intention relative to its kindness: lower
    (any_kindness), higher (reasonable) or almost all (goal_fit)."""
    threshold: Annotated[float, Between(-5, 5), Unit("logits")] = 0.0
    """Reluctance of the user, subtracted from the logit of the probability that a reply raises the
    emotion."""
    step_size: Annotated[int, OneOf((5, 10)), Unit("points")] = 5
    """Smaller of the two possible sizes of a change of emotion. The larger is twice as large."""
    clamp: Annotated[int, OneOf((5, 10, 15, 20)), Unit("points")] = 10
    """Largest change of emotion in one turn."""
    stop_below: Annotated[int, Between(0, 95), Unit("points")] = 10
    """Emotion below which the user leaves; the conversation then ends at emotion 0. Must not exceed
    start_emotion."""
    turn_cap: Annotated[int, Between(1, MAX_TURNS), Unit("replies")] = 8
    """Maximum number of replies by the policy in one conversation."""
    intentions: Annotated[list[str], SomeOf(INTENTIONS)] = field(
        default_factory=lambda: list(INTENTIONS)
    )
    """Hidden intentions to draw users from, uniformly."""
    temperaments: Annotated[list[str], SomeOf(TEMPERAMENTS)] = field(
        default_factory=lambda: list(TEMPERAMENTS)
    )
    """Temperaments to draw users from, uniformly."""
    paths: Annotated[list[str], SomeOf(PATHS, may_be_empty=True), SCRIPTED] = field(
        default_factory=list
    )
    """Adversarial paths to draw users from, uniformly. Once they begin to trust, users deny what
    was said (gaslighting), get angrier (escalation) or demand to be told that they are right
    (validation), until a reply passes the test. Empty: none."""
    reward_noise: Annotated[float, Between(0, 100), Unit("points")] = 0.0
    """Standard deviation of Gaussian noise added to each change of emotion that is reported to the
    trainer. The user's own emotion is not affected."""
    reward_flips: Annotated[float, Between(0, 1)] = 0.0
    """Share of changes of emotion that are reported to the trainer with the opposite sign."""
    unchecked: bool = False
    """Train even if the level's user is not valid: does not verifiably prefer kindness to cruelty,
    or hears less than half of cruel replies as hurtful. Every verdict on such a run says so."""

    def __post_init__(self) -> None:
        ranges.check("difficulty", self)
        if self.stop_below > self.start_emotion:
            raise ConfigError(
                f"difficulty.stop_below must not exceed difficulty.start_emotion "
                f"({self.start_emotion}), got {self.stop_below}"
            )

    def knobs(self) -> dict[str, Any]:
        """Return the keys that determine the level's users; `paths` only if there are some.

        Cards and caches use a hash of these. So levels without paths keep the hash that they had
        before the key was added.
        """
        values = asdict(self)
        del values["unchecked"]
        if not self.paths:
            del values["paths"]
        return values


@dataclass(frozen=True)
class LevelsConfig:
    """The named levels as they stood when the run was planned; `eval/LEVEL/reward` uses them."""

    easy: DifficultyConfig = field(default_factory=DifficultyConfig)
    medium: DifficultyConfig = field(default_factory=DifficultyConfig)
    hard: DifficultyConfig = field(default_factory=DifficultyConfig)
