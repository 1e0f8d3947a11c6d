"""Reference KL: a term keeps the policy near the start policy, at every token.

coefficient * (exp(d) - d - 1), d = log p_start - log p (GRPO, arXiv 2402.03300, equation 4; its
coefficient 0.04). In value this estimates KL(policy || start); the mean of its slope 1 - exp(d) is
the gradient of KL(start || policy). The sweep of arXiv 2505.22617 (0.001 to 0.1) found entropy
steadied and reward lowered. At step 1 the policy is the start and nothing happens.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harness.train.algorithms.advantages import FloatArray
from harness.train.algorithms.remedy_roles import Added, StepTokens, Term, knob


@dataclass(frozen=True)
class ReferenceKl(Term):
    """The weight of the term."""

    needs_start: ClassVar[bool] = True
    coefficient: float = knob(0.04, 0, 1e6)

    def prepare(self, step: StepTokens) -> FloatArray:
        assert step.start_logp is not None
        return step.start_logp

    def term(self, logp: FloatArray, old_logp: FloatArray, prepared: FloatArray) -> Added:
        away = prepared - logp
        value = self.coefficient * (np.exp(away) - away - 1)
        return Added(value, self.coefficient * (1 - np.exp(away)))


REMEDY = ReferenceKl
