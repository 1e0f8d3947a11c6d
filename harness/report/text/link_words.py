"""A link of a study in words: its statement, its quantity and its difference."""

from __future__ import annotations

from collections.abc import Sequence

from harness.law.compare import quantities
from harness.law.results import Interval
from harness.records.study_file import FactorialTable, Link
from harness.report.text import wording


def statement(link: Link) -> str:
    """Return the link's statement: `gain of reward is less in hard than in medium`."""
    net = ", net of the null controls" if link.net_of_null else ""
    quantity, direction = _quantity(link), link.direction
    if link.crossed is not None:
        between = f"between levels of {link.arm} than between levels of {link.against}"
        return f"variance of {quantity} is {direction} {between}{net}"
    if link.against is None:
        return f"{quantity} in {link.arm} is {direction} than 0{net}"
    return f"{quantity} is {direction} in {link.arm} than in {link.against}{net}"


def measured_quantity(link: Link) -> str:
    """Return the quantity, with its unit where the words do not imply it."""
    unit = quantities.of_link(link).unit
    has_unit = unit == quantities.NATS or link.probe is not None
    return f"{_quantity(link)}{f', {quantities.unit_of(link)}' if has_unit else ''}"


def compared_arms(link: Link) -> str:
    """Return `hard minus medium`."""
    minus = f"{link.arm} minus {link.against}" if link.against else link.arm
    return minus if link.crossed is None else f"variance, {minus}"


def statement_with_margin(link: Link) -> str:
    """Return the statement with its margin and its condition."""
    condition = f", if {link.given!r} holds" if link.given else ""
    sd_text = f" (a standard deviation of {link.least_gain:.3g})" if link.crossed else ""
    return f"{statement(link)}; margin {link.margin:g}{sd_text}{condition}"


def layout(table: FactorialTable) -> Sequence[str]:
    """Return a line that names the factors of a crossed table, then a line for each of its rows."""
    width = max(len(arm) for row in table.arms for arm in row)
    rows = ("  ".join(f"{arm:{width}}" for arm in row).rstrip() for row in table.arms)
    return [f"{table.rows} down, {table.columns} across:", *rows]


def interval(estimate: Interval, link: Link) -> str:
    return wording.interval(estimate) if link.crossed is None else wording.variance(estimate)


def _quantity(link: Link) -> str:
    """Return the quantity in words and, if it is on a reward, the evaluation."""
    quantity = quantities.of_link(link)
    words = f"{quantity.words}{f' on {link.evaluation}' if quantity.on_reward else ''}"
    return f"{words} (distance from the arm's median)" if link.spread else words
