"""The critical batch of entropy of an arm, from the entropy ledgers of its runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.law.estimate import entropy_ledger, numbers
from harness.law.estimate.entropy_ledger import PARTS
from harness.law.results import Floats, Interval
from harness.law.variance.results import CriticalBatch
from harness.law.variance.runs import Outcome


def of_arm(arm: Sequence[Outcome]) -> CriticalBatch | None:
    """The batch that the arm's ledgers ask for; None where no run has one.

    Of several runs the parts are means over seeds, and intervals come from what seeds differ by.
    Of one run the intervals come from the errors of its ledger.
    """
    ledgers = [one.ledger for one in arm if one.ledger is not None]
    conversations = arm[0].conversations
    if not ledgers or conversations is None:
        return None
    if len(ledgers) == 1:
        of_noise, batch = ledgers[0].noise_share, ledgers[0].critical_batch(conversations)
        return CriticalBatch(1, conversations, of_noise, batch)
    signal, noise, remedy = (
        np.array([-getattr(ledger, part).value for ledger in ledgers]) for part in PARTS
    )
    ratio = ratio_of_means(noise, signal + remedy)
    return CriticalBatch(
        runs=len(ledgers),
        conversations=conversations,
        noise_share=ratio_of_means(noise, signal + noise + remedy),
        batch=None if ratio is None else entropy_ledger.critical_batch(ratio, conversations),
    )


def ratio_of_means(part: Floats, whole: Floats) -> Interval | None:
    """Mean of `part` / mean of `whole`, shapes (seeds,), at least two; None where the mean of
    `whole` is not sure to be above 0.

    The 95% interval is that of Fieller 1954 for paired samples: every ratio r for which a t test
    does not tell the mean of part - r whole from 0.
    """
    mean_part, mean_whole = float(part.mean()), float(whole.mean())
    (of_part, both), (_, of_whole) = np.cov(part, whole) / len(part)
    t = numbers.t_quantile(0.975, len(part) - 1) ** 2
    square, linear, constant = (
        mean_whole**2 - t * of_whole,
        mean_part * mean_whole - t * both,
        mean_part**2 - t * of_part,
    )
    if mean_whole <= 0 or square <= 0:
        return None
    root = max(0.0, linear**2 - square * constant) ** 0.5
    low, high = float((linear - root) / square), float((linear + root) / square)
    return Interval(mean_part / mean_whole, low, high)
