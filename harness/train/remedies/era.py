"""ERA: the logits of good replies are sharpened in the loss if entropy is low, and flattened if it
is high.

Where A > 0 and the mean H over the 20% of a reply's tokens with the highest entropy is below `low`,
the reply's logits are multiplied by `factor` in the loss; above `high` they are divided by it
(arXiv 2510.08549; xtqqwq/ERA-LLM, dp_actor.py). The slope is that of log softmax(factor * logits),
which hardly changes tokens that are already likely. The authors' thresholds are 0.45 and 3 nats for
Qwen2.5-Math-7B. Here they are multiples of the same mean over the first step's replies, since
thresholds in nats do not transfer between models; the defaults are chosen here. factor 2 is the
authors'.

Differences: the 20% are taken per reply, where the authors have one response per conversation. H is
that of the weights that drew the tokens, for all updates of a step, and the ratio is that of the
sampling probabilities. The authors make one update per batch and can restrict logits to the 20
likeliest words (`topk`), which is not implemented, nor is the paper's rescaling of A (`adv_scale`,
off in their script). ERA also acts with one update per batch, and has no effect until a reply's H
has left the range.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.advantages import FloatArray, top_means
from harness.train.policy_gradient.remedy_roles import Adaptive, Sharpening, State, StepTokens

TOP_SHARE = 0.2


@dataclass(frozen=True)
class Era(Adaptive, Sharpening):
    """The range of a reply's entropy relative to the first step, and the factor outside of it."""

    chooses: ClassVar[bool] = True
    low: Annotated[float, Between(0, 1)] = 0.7
    """Multiple of the first step's entropy below which a good reply's logits are multiplied by
    factor."""
    high: Annotated[float, Between(1, 1000)] = 1.5
    """Multiple of the first step's entropy above which they are divided by factor."""
    factor: Annotated[float, Between(1, 100)] = 2.0
    """Factor by which logits are multiplied or divided."""

    def observed(self, state: State, step: StepTokens) -> State:
        if state:
            return state
        assert step.entropy_nats is not None
        means = top_means(step.entropy_nats, step.reply, TOP_SHARE)
        return {"start_nats": float(means.mean())}

    def factors(self, step: StepTokens) -> FloatArray:
        assert step.entropy_nats is not None
        means = top_means(step.entropy_nats, step.reply, TOP_SHARE)[step.reply]
        good, start = step.advantage > 0, step.state["start_nats"]
        sharper = np.where(good & (means < self.low * start), self.factor, 1.0)
        return np.where(good & (means > self.high * start), 1 / self.factor, sharper)


REMEDY = Era
