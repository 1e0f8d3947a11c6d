"""The words that a run was made with, whatever command made it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.errors import HarnessError
from harness.law.io import identity, typed_words


def of_run(run: str) -> Sequence[str] | None:
    """Return those of its sweep, else those that make its config; None where neither is known.

    A config is put in words only where it is needed: that composes the defaults.
    """
    words = typed_words.of_sweep(run)
    if words is not None:
        return words
    who = identity.read(Path(run))
    if who.full_config is None or not Path(run).is_dir():
        return None
    from harness.law.compare import groups
    from harness.planning import settings

    try:
        own = settings.words_of(groups.flat(dict(who.full_config)), frozenset())
    except HarnessError:  # an option of another folder or version
        return None
    return [*own, *([] if who.seed is None else [f"seed={who.seed}"])]
