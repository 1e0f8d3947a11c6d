"""The verdict of a study, from its judged links and the checks that they hang on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.law.compare.links import CONTRADICTED, NO_EFFECT, SUPPORTED, UNDECIDED, Judged


def hold_back(links: Sequence[Judged], checks: Sequence[Judged]) -> tuple[Judged, ...]:
    """A link whose check does not hold says nothing, whatever its own numbers are."""
    words = {check.link.name: check.verdict for check in checks}
    return tuple(_held_back(link, words) for link in links)


def hold_back_checks(checks: Sequence[Judged]) -> tuple[Judged, ...]:
    """The same for checks, each of which may hang on one before it."""
    held: tuple[Judged, ...] = ()
    for check in checks:
        held += hold_back([check], held)
    return held


def verdict(links: Sequence[Judged], deciding: Sequence[str]) -> str:
    """The verdict of the study: all deciding links must hold, and one that does not is enough."""
    words = {link.verdict for link in links if link.link.name in deciding}
    for word in (CONTRADICTED, NO_EFFECT):
        if word in words:
            return word
    return SUPPORTED if words == {SUPPORTED} else UNDECIDED


def seeds_needed(links: Sequence[Judged], deciding: Sequence[str]) -> int | None:
    """Seeds that would decide every link that is open; None where that is not known of one."""
    still = [j for j in links if j.link.name in deciding and j.verdict == UNDECIDED]
    needed = [link.seeds_needed for link in still]
    counts = [count for count in needed if count is not None]
    if not still or verdict(links, deciding) != UNDECIDED or len(counts) < len(needed):
        return None
    return max(counts)


def _held_back(link: Judged, words: Mapping[str, str]) -> Judged:
    check = link.link.given
    if check is None or words[check] == SUPPORTED:
        return link
    why = f"its check, {check}, is {words[check]}"
    return replace(link, verdict=UNDECIDED, why=why, seeds_needed=None)
