"""The learning algorithm, and the remedies against entropy collapse."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from harness.config import ranges
from harness.config.policy import ANY_LANGUAGE_MODEL
from harness.config.ranges import Between, ByOption, OneOf, Only, Unit, Unless
from harness.errors import ConfigError

GRPO = Only("algorithm.kind", ("grpo", "gspo", "reptile"))
BY_CONVERSATION = Unless("algorithm.kind", ("gspo", "kto"), "it takes the mean over conversations")
BY_TOKEN = Unless("algorithm.kind", ("lite_ppo",), "it divides by the number of tokens")
BY_CONSTANT = Unless("algorithm.kind", ("dr_grpo",), "it divides by a constant")
CLIPS = Unless(
    "algorithm.kind",
    ("reinforce", "expert_iteration", "kto", "critique_grpo"),
    "it does not clip",
)
LATER_UPDATES = Unless("trainer.updates_per_batch", (1,), "every ratio is 1 and nothing is clipped")


@dataclass(frozen=True)
class AlgorithmConfig:
    """How advantages are computed from rewards, and the loss from advantages."""

    name: Annotated[str, ByOption()] = "grpo"
    """Name of the algorithm, as shown in results."""
    kind: Annotated[str, ByOption()] = "grpo"
    """Kind of algorithm: critique_grpo, dr_grpo, expert_iteration, grpo, gspo, kto, lite_ppo,
    max_rl, ppo, reinforce, reptile, rloo, vpo or one from a plug-in."""
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    """Options of the algorithm, listed in conf/algorithm/NAME.yaml. Set one by
    algorithm.options.KEY=VALUE."""
    group_size: Annotated[int, Between(1, 1024), Unit("conversations")] = 8
    """Conversations per group, which share a user and an opening. Algorithms that compare within
    groups need 2 or more."""
    learning_rate: Annotated[float, Between(0, 1e4)] = 5e-4
    """Learning rate of Adam for language models, of plain gradient ascent for policy=tabular, which
    sets 3.0."""
    std_floor: Annotated[float | None, Between(0, 10), GRPO] = 0.10
    """Lower bound of the standard deviation that advantages are divided by. 0: no lower bound;
    null: no division."""
    std_over: Annotated[str, OneOf(("group", "batch")), GRPO] = "group"
    """Rewards whose standard deviation advantages are divided by: those of the group or of the
    whole batch."""
    denominator: Annotated[
        str, OneOf(("tokens", "constant")), BY_CONSTANT, BY_TOKEN, BY_CONVERSATION
    ] = "tokens"
    """Divisor of the summed token losses: the number of tokens (giving the mean), or a constant,
    the largest possible number of tokens in a batch."""
    null_control: bool = False
    """Permute the advantages of whole conversations within each group, or within the batch for an
    algorithm without groups. Updates keep their size and carry no signal: a control for the effect
    of noise alone."""
    clip_low: Annotated[float, Between(0, 1), LATER_UPDATES, CLIPS] = 0.2
    """Lower clip bound of the probability ratio: 1 - clip_low."""
    clip_high: Annotated[float, Between(0, 100), LATER_UPDATES, CLIPS] = 0.2
    """Upper clip bound of the probability ratio: 1 + clip_high."""
    adam_beta1: Annotated[float, Between(0, 0.9999), ANY_LANGUAGE_MODEL] = 0.9
    """Decay rate of Adam's first moment."""
    adam_beta2: Annotated[float, Between(0, 0.99999), ANY_LANGUAGE_MODEL] = 0.99
    """Decay rate of Adam's second moment."""
    adam_epsilon: Annotated[float, Between(0, 1), ANY_LANGUAGE_MODEL] = 1e-3
    """Adam's epsilon. Deliberately large: with the usual 1e-8, gradient noise becomes full-sized
    steps that degrade the tiny model's text."""
    max_grad_norm: Annotated[float, Between(0, 1e6), ANY_LANGUAGE_MODEL] = 1.0
    """Norm to which gradients are clipped. 0: they are not clipped."""

    def __post_init__(self) -> None:
        ranges.check("algorithm", self)
        if self.std_floor is None and self.std_over != "group":
            rule = "must be group where algorithm.std_floor is null, since nothing is divided by it"
            raise ConfigError(f"algorithm.std_over: {rule}, got {self.std_over}")


@dataclass(frozen=True)
class RemedyConfig:
    """Remedies against the collapse of policy entropy; `none` applies none."""

    name: Annotated[str, ByOption()] = "none"
    """Name of the remedy, as shown in results."""
    methods: dict[str, Any] = field(default_factory=dict)
    """Methods and their options, listed in conf/remedy/NAME.yaml. Set one by
    remedy.methods.METHOD.KEY=VALUE."""

    def __post_init__(self) -> None:
        if (self.name == "none") != (not self.methods):
            raise ConfigError(
                "remedy.methods must be empty with remedy=none and name a method with any other, "
                f"got {', '.join(self.methods) or 'none'} with {self.name}"
            )
