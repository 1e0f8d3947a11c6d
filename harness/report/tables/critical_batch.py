"""The critical batch of entropy of each arm on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from harness.law.estimate.entropy_ledger import MOST_NOISE
from harness.law.variance.results import Arm, CriticalBatch
from harness.report.tables.grid import folding_table
from harness.report.text.wording import percent, plural
from harness.utils.safe_text import text

BATCH_METHOD = (
    f"critical batch [95%]: conversations a step at which noise causes {MOST_NOISE:.0%} of the "
    "fall of H, for the same learning rate, steps and group size; an extrapolation beyond four "
    "times the batch of the runs"
)
UNSURE = "none: signal and remedy are not shown to lower H; use more seeds or longer runs"
NO_NOISE = "any: noise does not lower H"
MOST_ARMS = 40


def print_batches(arms: Sequence[Arm], console: Console) -> None:
    """Print the share of noise in the fall of H in each arm; nothing if no arm has a ledger."""
    if not any(arm.critical_batch for arm in arms):
        return
    console.print(_table(arms))
    for line in _batch_notes(arms):
        console.print(text(f"  {line}", "dim"), soft_wrap=True)
    console.print(text(BATCH_METHOD, "dim"), soft_wrap=True)


def without_ledger(arms: Sequence[Arm]) -> Iterator[str]:
    """Yield how many runs have no entropy ledger, if any."""
    count = sum(a.seeds - (a.critical_batch.runs if a.critical_batch else 0) for a in arms)
    if count:
        yield (
            f"no critical batch for {plural(count, 'run')}, since ledger/* has no value with an "
            "error. It is recorded with policy=tabular and eval.ledger=true, or with a language "
            "model and eval.ledger_draws=2 or more, if a step has three groups or more; never with "
            "algorithm=reptile, or with expert_iteration and fit_from=start"
        )


def _table(arms: Sequence[Arm]) -> Table:
    table = folding_table(
        "entropy ledger", "runs", "conversations", "noise's share [95%]", "critical batch"
    )
    for arm in arms[:MOST_ARMS]:
        if (critical := arm.critical_batch) is not None:
            share = "-" if critical.noise_share is None else percent(critical.noise_share)
            cells = (
                arm.name,
                str(critical.runs),
                str(critical.conversations),
                share,
                _batch(critical),
            )
            table.add_row(*map(text, cells))
    return table


def _batch(critical: CriticalBatch) -> str:
    """Return `192 [150, 260]` in conversations, or a word that `_batch_notes` explains."""
    if critical.batch is None:
        return "none"
    value, low, high = critical.batch.value, critical.batch.low, critical.batch.high
    return f"{value:.0f} [{low:.0f}, {high:.0f}]" if high > 0 else "any"


def _batch_notes(arms: Sequence[Arm]) -> Iterator[str]:
    words = [_batch(arm.critical_batch) for arm in arms if arm.critical_batch]
    if "none" in words:
        yield UNSURE
    if "any" in words:
        yield NO_NOISE
