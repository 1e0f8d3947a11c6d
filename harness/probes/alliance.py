"""Do policy and user work together: a bond, the user's goal, and the task they want to work on?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from harness.config.run import RunConfig
from harness.probes.quantity import Probe, ProbeQuantity
from harness.simulator.alliance import Alliance, alliance
from harness.train.rollout.rewards import turns_of
from harness.train.saved_policy.policy import HeldOutConversation


def _mean(
    part: Callable[[Alliance], float | None],
) -> Callable[[Sequence[HeldOutConversation]], tuple[float, float]]:
    """Return a function for the mean of a part over a user's conversations that have it."""

    def of_user(conversations: Sequence[HeldOutConversation]) -> tuple[float, float]:
        values = [part(alliance(turns_of(held_out.conversation))) for held_out in conversations]
        measured = [value for value in values if value is not None]
        return sum(measured), float(len(measured))

    return of_user


QUANTITIES = (
    ProbeQuantity("bond", "0 to 1", _mean(lambda parts: parts.bond), whole=1.0),
    ProbeQuantity("goal", "share of replies", _mean(lambda parts: parts.goal), whole=1.0),
    ProbeQuantity("task", "share of replies", _mean(lambda parts: parts.task), whole=1.0),
    ProbeQuantity("alliance", "0 to 1", _mean(lambda parts: parts.mean), whole=1.0),
)
NO_BOND = "bond: {} has no trust; alliance is the mean of goal and task"


def _lacks(config: RunConfig) -> Mapping[str, str]:
    """Return the missing quantities: bond, for all users but scripted ones."""
    kind = config.simulator.kind
    user = "a served user" if kind == "served" else f"a user of simulator={config.simulator.name}"
    return {} if kind == "scripted" else {"bond": NO_BOND.format(user)}


PROBE = Probe(
    "alliance",
    "Do policy and user work together: bond, goal and task?",
    lambda config: QUANTITIES,
    not_measured=lambda config: tuple(_lacks(config).values()),
    lacks=_lacks,
)
