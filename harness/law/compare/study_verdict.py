"""Derive the verdict of a study from its judged links and their checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.law.compare.link_result import (
    CONTRADICTED,
    NO_EFFECT,
    SUPPORTED,
    UNDECIDED,
    LinkResult,
)


def hold_back(links: Sequence[LinkResult], checks: Sequence[LinkResult]) -> tuple[LinkResult, ...]:
    """Set links to undecided if their check is not supported."""
    words = {check.link.name: check.verdict for check in checks}
    return tuple(_hold_back_link(link, words) for link in links)


def hold_back_checks(checks: Sequence[LinkResult]) -> tuple[LinkResult, ...]:
    """Set checks to undecided if an earlier check they depend on is not supported."""
    results: tuple[LinkResult, ...] = ()
    for check in checks:
        results += hold_back([check], results)
    return results


def verdict(links: Sequence[LinkResult], deciding: Sequence[str]) -> str:
    """Return the verdict of the study: supported only if all deciding links are.

    One contradicted link, or else one with no effect, determines the verdict.
    """
    words = {link.verdict for link in links if link.link.name in deciding}
    for word in (CONTRADICTED, NO_EFFECT):
        if word in words:
            return word
    return SUPPORTED if words == {SUPPORTED} else UNDECIDED


def seeds_needed(links: Sequence[LinkResult], deciding: Sequence[str]) -> int | None:
    """Return the seeds that would decide all undecided deciding links; None if unknown for one."""
    undecided = [link for link in links if link.link.name in deciding and link.verdict == UNDECIDED]
    needed = [link.seeds_needed for link in undecided]
    counts = [count for count in needed if count is not None]
    if not undecided or verdict(links, deciding) != UNDECIDED or len(counts) < len(needed):
        return None
    return max(counts)


def _hold_back_link(link: LinkResult, words: Mapping[str, str]) -> LinkResult:
    check = link.link.given
    if check is None or words[check] == SUPPORTED:
        return link
    why = f"its check, {check}, is {words[check]}"
    return replace(link, verdict=UNDECIDED, why=why, seeds_needed=None)
