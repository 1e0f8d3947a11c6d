"""DPPO: a token is dropped once its probability, rather than its ratio, has moved too far.

The loss is -r A, but 0 where A > 0 and p - p_old > high, or A < 0 and p_old - p > low (binary total
variation, arXiv 2602.04879; 0.2 and 0.2 as in SkyRL and verl's `dppo_tv`; prime-rl trains with it).
A clip of the ratio at 1.2 stops a token with p_old 0.01 at 0.012; DPPO lets it rise to 0.21. A
ratio above `cap` counts as `cap` in the slope: verl's code has sg(min(r, 20)) log p.

The authors' implementations (sail-sg/Stable-RL; verl) compare with the probability of the engine
that drew the token, so their mask includes the engine's rounding. Here p_old is the trainer's own,
and an importance weight corrects for the engine. With one update per batch p equals p_old, so DPPO
has no effect. The variant with binary KL is not implemented.
"""

from dataclasses import dataclass
from typing import Annotated

from harness.config.ranges import Between
from harness.train.policy_gradient.arrays import Array, namespace
from harness.train.policy_gradient.losses import TokenLoss
from harness.train.policy_gradient.remedy_roles import Ratio


@dataclass(frozen=True)
class Dppo(Ratio):
    """How far a token's probability may move either way."""

    low: Annotated[float, Between(0, 1)] = 0.2
    """Fall of the probability beyond which a token with a negative advantage is dropped."""
    high: Annotated[float, Between(0, 1)] = 0.2
    """Rise of the probability beyond which a token with a positive advantage is dropped."""
    cap: Annotated[float, Between(1, 1e6)] = 20.0
    """Ratio above which the gradient grows no further."""

    def surrogate(self, logp: Array, old_logp: Array, advantage: Array) -> TokenLoss:
        xp = namespace(logp)
        rise = xp.exp(logp) - xp.exp(old_logp)
        below, above = (advantage < 0) & (rise < -self.low), (advantage > 0) & (rise > self.high)
        ratio = xp.clip(xp.exp(logp - old_logp), 0, self.cap)
        loss = xp.where(below | above, 0.0, -ratio * advantage)
        return TokenLoss(loss, loss, below, above)


REMEDY = Dppo
