"""What an attempt finds in its folder and goes on in spite of: noted in events.jsonl, and said."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.records.checkpoints import Checkpoint
from harness.records.metrics import MEASURED
from harness.utils import safe_text


def tell(
    note: Callable[..., None],
    cleared: int,
    passed_over: Sequence[str],
    moved_aside: str | None,
    unlike: str | None,
    checkpoint: Checkpoint | None,
    later_keys: Sequence[str],
) -> None:
    """`cleared`: leftovers of saves; `passed_over`: why checkpoints were; `moved_aside`: why rows
    were, to be computed again; `unlike`: which versions are others now; `later_keys`: of the
    config, which came after the run was planned. `note` logs an event.
    """
    start = checkpoint.step if checkpoint else 0
    if cleared:
        note("scratch_cleared", folders=cleared)
    for problem in passed_over:
        note("checkpoint_passed_over", problem=problem)
        safe_text.say(f"{problem}; continuing from step {start}")
    if moved_aside:
        note("row_damaged", problem=moved_aside)
        aside = "it and what follows went to metrics.superseded.jsonl and is computed again"
        safe_text.say(f"{moved_aside}; {aside}")
    if checkpoint is not None and checkpoint.identity is None:
        note("checkpoint_without_identity", step=start)
        rule = "does not say which run it is of, as an older version saved it; taken on trust"
        safe_text.say(f"{checkpoint.path}: {rule}")
    if unlike:
        note("versions_changed", problem=unlike)
        safe_text.say(unlike)
    if later_keys:
        note("defaults_taken", keys=list(later_keys))
        safe_text.say(
            f"config.yaml is older than these keys, which have their defaults: "
            f"{', '.join(later_keys)}"
        )


def tell_columns(note: Callable[..., None], columns: Sequence[str]) -> None:
    """Say which metrics the run's rows go on without, and which can no longer be measured."""
    later = [key for key in MEASURED if key not in columns]
    former = [key for key in columns if key not in MEASURED]
    if later:
        note("columns_kept", without=later)
        safe_text.say(
            f"metrics.jsonl is older than these metrics, and goes on without: {_few(later)}"
        )
    if former:
        note("columns_empty", columns=former)
        safe_text.say(
            f"this version does not measure these metrics, null from here on: {_few(former)}"
        )


def _few(names: Sequence[str]) -> str:
    return f"{', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"
