"""A calibration on a terminal: a table with a column per level, then the findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from harness.report.tables import validity
from harness.report.tables.validity import POINTS, SHARES
from harness.utils.safe_text import text

Rows = Iterator[tuple[str, list[str]]]
HOW = "at 100, left"
CAUTION = "matching averages does not prove realism"


def print_calibration(calibration: Mapping[str, Any], console: Console) -> None:
    """Print a calibration, the value of calibration.json."""
    cards = calibration["levels"]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("", *cards):
        table.add_column(text(heading))
    for name, cells in _rows(list(cards.values())):
        table.add_row(text(name), *map(text, cells))
    console.print(table)
    for line in findings(calibration):
        console.print(text(line), soft_wrap=True)


def print_hearing(heard: Mapping[str, Any], console: Console) -> None:
    """Print how well strategies are recognised in ESConv. `heard` is the value of esconv.json."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("annotated", "n", "heard among others", "nothing heard"):
        table.add_column(text(heading), justify="left" if heading == "annotated" else "right")
    for name, part in heard["by_strategy"].items():
        shares = [validity.interval(part[key], SHARES) for key in ("agreement", "unheard")]
        table.add_row(text(name), str(part["n"]), *map(text, shares))
    total_shares = [validity.interval(heard[key], SHARES) for key in ("agreement", "unheard")]
    table.add_row(text("all"), str(heard["n"]), *map(text, total_shares))
    console.print(table)
    for line in (
        f"Cohen's kappa without Others {validity.interval(heard['kappa'], SHARES)}",
        f"strategies per utterance {validity.interval(heard['heard_per_utterance'], SHARES)}",
        f"not taken for language {validity.interval(heard['not_language'], SHARES + 1)}",
        f"recognised by {heard['reader']}",
    ):
        console.print(text(line), soft_wrap=True)


def findings(calibration: Mapping[str, Any]) -> Iterator[str]:
    """Yield whether the levels are in order, the published figures met and missed, and doubts."""
    holds = calibration["order_holds"]
    if holds is not None:
        broken = [
            f"{s['measure'].replace('_', ' ')} of {s['easier']} and {s['harder']}"
            for s in calibration["order"]
            if s["p_holm"] >= 0.05
        ]
        yield (
            "the levels are in order"
            if holds
            else f"levels not shown to be in order: {', '.join(broken)}"
        )
    matches = calibration["published"]
    if matches:
        matched = sum(match["matched"] for match in matches)
        yield f"{matched} of {len(matches)} published figures are met; {CAUTION}"
    for match in matches:
        if not match["matched"]:
            yield (
                f"not met: {match['figure']} of {match['level']} is {match['measured']:.3f}, "
                f"published {match['published']:.3f}"
            )
    for level, problem in calibration.get("invalid", ()):
        yield f"not valid: at {level} {problem}"
    readers = sorted({card.get("reader", "lexical") for card in calibration["levels"].values()})
    if readers not in ([], ["lexical"]):
        yield f"reader of the users: {', '.join(readers)}"
    agreements = [card["strategy_agreement"] for card in calibration["levels"].values()]
    if agreements and agreements[0]["value"] < 0.70:
        share = agreements[0]["value"]
        yield f"not transferable: in free wording only {share:.0%} of strategies are recognised"


def _rows(cards: list[Mapping[str, Any]]) -> Rows:
    for name in ("acceptance", "acceptance_held_out", "acceptance_free_wording",
                 "need_expression", "strategy_agreement"):  # fmt: skip
        yield name.replace("_", " "), [validity.interval(card[name], SHARES) for card in cards]
    yield "final emotion", ["" for _ in cards]
    for policy in cards[0]["policies"]:
        scores = [card["policies"][policy] for card in cards]
        yield f"  {policy}", [validity.interval(score["final_emotion"], POINTS) for score in scores]
        yield f"    {HOW}", [_end_shares(score) for score in scores]
    yield (
        "  all skills pooled",
        [validity.interval(card["population_final_emotion"], POINTS) for card in cards],
    )
    for name in cards[0]["best"]:
        yield f"  best: {name.replace('_', ' ')}", [f"{card['best'][name]:.1f}" for card in cards]
    yield from _validity([card.get("validity_held_out") for card in cards])
    for name in ("zero_variance_groups", "tiny_variance_groups", "lag1"):
        yield name.replace("_", " "), [validity.interval(card[name], SHARES) for card in cards]


def _validity(validities: list[Mapping[str, Any] | None]) -> Rows:
    """Yield the measures of the users' validity; nothing if a card is older than these measures."""
    parts = [part for part in validities if part is not None]
    if len(parts) == len(validities):
        yield "validity", ["" for _ in parts]
        yield from ((f"  {words}", cells) for words, cells in validity.rows(parts))


def _end_shares(score: Mapping[str, Any]) -> str:
    return ", ".join(f"{score[outcome]['value']:.0%}" for outcome in ("success", "failure"))
