"""Contrasts between groups of runs as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from harness.law.compare import claims
from harness.law.group_results import Analysis, Contrast, GroupDifference, GroupResult
from harness.law.io.identity import FolderIdentity
from harness.report.text import wording
from harness.report.text.wording import plural
from harness.utils.safe_text import text

QUANTITY = {"fall": "fall of H"}
WIDTHS = (9, 21, 9)
"""Widths of quantity, difference and p. The decision takes the remaining width."""
MOST_ROWS = 30
"""If there are more contrasts, only decided ones are shown; contrasts.csv has all."""
NET_OF_NULL = (
    "net of the null: the same difference, after subtracting from each run its null control of the "
    "same seed; not used for the decision"
)
LARGEST_SHARE = 1.0
"""The largest possible difference of two onsets, as a share of the run."""


def blocks(analysis: Analysis, width: int) -> list[tuple[str, Table]]:
    """Return each pair of groups as a heading and a table. `width`: in characters."""
    by_pair: dict[str, Table] = {}
    for group, contrast in _shown_contrasts(_all_contrasts(analysis)):
        pair = pair_heading(group.key, contrast.baseline)
        by_pair.setdefault(pair, _grid(width)).add_row(
            text(QUANTITY.get(contrast.quantity, contrast.quantity)),
            *map(text, numbers(contrast)),
            text(decision(contrast)),
        )
    return list(by_pair.items())


def _grid(width: int) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for column_width in WIDTHS:
        grid.add_column(overflow="fold", width=column_width)
    grid.add_column(overflow="fold", width=width - sum(WIDTHS) - len(WIDTHS))
    return grid


def _all_contrasts(analysis: Analysis) -> list[tuple[GroupResult, Contrast]]:
    return [(group, c) for group in analysis.groups for c in group.contrasts]


def notes(analysis: Analysis) -> list[str]:
    """Return the notes below the table: the method, and what is omitted."""
    all_contrasts, lines = _all_contrasts(analysis), []
    method = _method([c for _, c in all_contrasts])
    if method:
        lines.append(method)
    hidden = len(all_contrasts) - len(_shown_contrasts(all_contrasts))
    if hidden:
        lines.append(f"{plural(hidden, 'more contrast')} in contrasts.csv")
    if any(c.net_of_null for _, c in all_contrasts):
        lines.append(NET_OF_NULL)
    nulls = _count_null_pairs(analysis)
    if nulls:
        lines.append(f"{plural(nulls, 'comparison')} between two null controls omitted")
    not_compared = _count_pairs(len(analysis.groups)) - nulls - _count_compared(analysis.groups)
    if not_compared:
        lines.append(
            f"{plural(not_compared, 'pair')} of groups not compared: they differ in several axes, "
            "so a difference could not be attributed to one of them"
        )
    return lines


def pair_heading(key: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return `difficulty: hard minus easy`, followed by the shared values in brackets."""
    differing = [axis for axis in key if key.get(axis) != other.get(axis)]
    difference = "; ".join(f"{axis}: {key.get(axis)} minus {other.get(axis)}" for axis in differing)
    shared_text = ", ".join(
        f"{axis}={value}" for axis, value in key.items() if axis not in differing
    )
    return f"{difference} ({shared_text})" if shared_text else difference


def decision(contrast: Contrast) -> str:
    """Return `undecided: the smallest detectable difference is 0.29; about 35 seeds per ...`."""
    words, why = wording.without_underscores(contrast.decision), contrast.why
    if contrast.decision == "equivalent" and contrast.margin is not None:
        words += f" within {wording.number(contrast.margin)}"
    elif contrast.decision == "undecided" and contrast.minimum_detectable is not None:
        words += f": {_detectable(contrast.quantity, contrast.minimum_detectable)}"
    elif why:
        words += f": {why}"
    remarks = (
        *(_seeds(contrast), _net_of_null(contrast), _failures(contrast), _inactive(contrast)),
        _invalid_users(contrast),
    )
    return "; ".join(part for part in (words, *remarks) if part)


def _net_of_null(contrast: Contrast) -> str:
    net = contrast.net_of_null
    return f"net of the null {_difference(net)}" if net else ""


def _seeds(contrast: Contrast) -> str:
    """Say how many seeds would decide. Runs of a single seed give only a lower bound."""
    needed, margin = contrast.seeds_needed, contrast.margin
    if contrast.decision != "undecided" or margin is None:
        return ""
    if contrast.minimum_detectable is None:
        return f"needs at least {needed} seeds per group, with runs like these" if needed else ""
    seeds = f"about {needed}" if needed else f"over {claims.MOST_SEEDS}"
    return f"{seeds} seeds per group would detect {wording.number(margin, margin)}"


def _failures(contrast: Contrast) -> str:
    rates = contrast.unlike_failures
    if not rates:
        return ""
    own_rate, other_rate = (f"{100 * rate:.1f}%" for rate in rates)
    return f"caution: {own_rate} of conversations failed, against {other_rate}"


def _inactive(contrast: Contrast) -> str:
    runs = contrast.remedy_inactive
    return (
        f"caution: the remedy was inactive (acted on no token) in {runs} of the runs"
        if runs
        else ""
    )


def _invalid_users(contrast: Contrast) -> str:
    runs = contrast.invalid_users
    return f"caution: users not valid in {runs} of the runs" if runs else ""


def _detectable(quantity: str, smallest: float) -> str:
    if quantity == "onset" and smallest > LARGEST_SHARE:
        return "no difference is detectable"
    return f"the smallest detectable difference is {smallest:.2g}"


def _difference(gap: GroupDifference) -> str:
    if gap.difference is None or gap.low is None or gap.high is None:
        return "-"
    return wording.estimate(gap.difference, gap.low, gap.high)


def numbers(contrast: Contrast) -> tuple[str, str]:
    """Return the difference with its interval, and p."""
    return _difference(contrast), _p(contrast.p_holm)


def _p(value: float | None) -> str:
    return "-" if value is None else f"p {claims.p_text(value)}"


def _method(contrasts: Sequence[Contrast]) -> str:
    tested = sum(c.p_holm is not None for c in contrasts)
    primary = next((QUANTITY.get(c.quantity, c.quantity) for c in contrasts if c.primary), None)
    first = f", {primary} first" if primary else ""
    columns = sorted({c.on for c in contrasts if c.on})
    columns_text = f"rewards on {' and '.join(columns)}" if columns else ""
    method_text = (
        "differences between means over seeds with 95% intervals; p corrected by Holm within each "
        f"quantity{first} ({plural(tested, 'test')} in all); onset as a share of the run (1 if "
        "there is none); fall of H on visited states"
    )
    return "; ".join(part for part in (method_text if tested else "", columns_text) if part)


def _shown_contrasts(
    contrasts: Sequence[tuple[GroupResult, Contrast]],
) -> list[tuple[GroupResult, Contrast]]:
    if len(contrasts) <= MOST_ROWS:
        return list(contrasts)
    decided = [pair for pair in contrasts if pair[1].decision in ("differs", "equivalent")]
    return decided[:MOST_ROWS]


def _count_compared(groups: Sequence[GroupResult]) -> int:
    """Return the number of pairs of groups that were compared."""
    return sum(len({str(dict(c.baseline)) for c in g.contrasts}) for g in groups)


def _count_null_pairs(analysis: Analysis) -> int:
    """Return the number of pairs of groups that are both null controls."""
    nulls = {run.run for run in analysis.runs if FolderIdentity(run.config).null_control}
    return _count_pairs(sum(group.all_runs[0] in nulls for group in analysis.groups))


def _count_pairs(groups: int) -> int:
    return groups * (groups - 1) // 2
