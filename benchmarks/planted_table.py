"""The table of planted worlds: how often a study was right, and what seeds_needed was worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.planted_truth import RIGHT, WRONG, Row, World
from harness.law.compare import links, looks, study_verdict
from harness.law.compare.link_observations import LinkObservations
from harness.law.compare.link_result import UNDECIDED
from harness.records.study_file import Link

FACTOR = 2.0
"""seeds_needed is good where it is within this factor of what the whole pool of pairs asks for."""
DRAW_SEED = 25
HEAD = (
    "world", "true, in margins", "right words", "pairs", "studies", "right %", "wrong %",
    "undecided %", "words",
)  # fmt: skip
HEAD_OF_SEEDS = (
    "world", "first pairs", "undecided", "asked for, median", "needed", "within a factor of 2 %",
    "decided with as many %",
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What an undecided first look asked for."""

    asked: int
    """Pairs, by its own spread: its seeds_needed."""
    needed: float
    """Pairs, by the spread of all pairs of its world; inf above what can be planned."""
    is_decided: bool
    """Whether a word was said with as many as it asked for, its own pairs first."""

    @property
    def is_near(self) -> bool:
        return self.needed / FACTOR <= self.asked <= self.needed * FACTOR


def table(worlds: Sequence[World], rows: Sequence[Row]) -> Iterator[str]:
    """Two Markdown tables: words, and seeds."""
    yield from _head(HEAD)
    scores: Counter[str] = Counter()
    for world in worlds:
        mine = [row["verdict"] for row in rows if row["world"] == world.name]
        scored = Counter(map(world.score, mine))
        scores += scored
        true = ", ".join(f"{effect:g}" for effect in world.effect)
        said = ", ".join(f"{word} {count}" for word, count in Counter(mine).most_common())
        right = " or ".join(world.right)
        yield _row(world.name, true, right, world.pairs, len(mine), *_shares(scored), said)
    yield _row("all", "", "", "", scores.total(), *_shares(scores), "")
    yield ""
    yield from _head(HEAD_OF_SEEDS)
    every: list[Answer] = []
    for world in worlds:
        asked = of_seeds([row for row in rows if row["world"] == world.name])
        every += asked
        yield _row(world.name, world.early, *_told(asked))
    yield _row("all", "", *_told(every))


def of_seeds(rows: Sequence[Row]) -> list[Answer]:
    """One for each first look of a world's studies that ended undecided and asked for pairs."""
    found = []
    rng = np.random.default_rng(DRAW_SEED)
    for row in rows:
        early = row["early"]
        if early is None or early["verdict"] != UNDECIDED or early["seeds_needed"] is None:
            continue
        asked = int(early["seeds_needed"])
        order = _pairs(rows, row, early, rng)
        seen = [list(link["by_seed"]) for link in early["links"]]
        is_decided = _said(rows, order[:asked], seen) != UNDECIDED
        found.append(Answer(asked, _needed(rows, early), is_decided))
    return found


def _needed(rows: Sequence[Row], early: Row) -> float:
    """Pairs that the open links need at the spread of all pairs."""
    count = len(early["links"])
    needed = []
    for at, link in enumerate(early["links"]):
        if link["verdict"] != UNDECIDED:
            continue
        values = [v for row in rows for v in row["links"][at]["by_seed"].values()]
        spread, first = float(np.std(values, ddof=1)), len(link["by_seed"])
        pairs = looks.pairs_needed(spread, link["margin"], count, (first,))
        needed.append(float("inf") if pairs is None else float(pairs))
    return max(needed)


def _pairs(rows: Sequence[Row], mine: Row, early: Row, rng: np.random.Generator) -> list[str]:
    """Seeds of a world: those of the first look, the others of its study, then of other studies."""
    first = list(early["links"][0]["by_seed"])
    own = [seed for seed in mine["links"][0]["by_seed"] if seed not in first]
    others = [seed for row in rows if row is not mine for seed in row["links"][0]["by_seed"]]
    return [*first, *own, *(str(seed) for seed in rng.permutation(others))]


def _said(rows: Sequence[Row], seeds: Sequence[str], before: Sequence[Sequence[str]]) -> str:
    """The verdict of a study of these pairs, after a look at those `before`, by link.

    Whether anything was learnt is not asked: rows do not keep what the arms gained.
    """
    observed = []
    for at, link in enumerate(rows[0]["links"]):
        net = _values(rows, at, "by_seed")
        plain = _values(rows, at, "plain_by_seed") or net
        stated = Link(
            link["name"], link["quantity"], "arm", "other", link["direction"], link["margin"]
        )
        observed.append(
            LinkObservations(
                stated,
                {int(seed): plain[seed] for seed in seeds if seed in plain},
                {int(seed): net[seed] for seed in seeds if seed in net},
            )
        )
    names = [one.link.name for one in observed]
    earlier = {name: [frozenset(pairs)] for name, pairs in zip(names, before, strict=True)}
    return study_verdict.verdict(links.judge_links(observed, names, earlier), names)


def _values(rows: Sequence[Row], at: int, of: str) -> Mapping[str, float]:
    return {seed: v for row in rows for seed, v in (row["links"][at][of] or {}).items()}


def _told(answers: Sequence[Answer]) -> Iterator[Any]:
    yield len(answers)
    if not answers:
        yield from ("-",) * 4
        return
    yield f"{np.median([one.asked for one in answers]):.0f}"
    yield f"{np.median([one.needed for one in answers]):.0f}"
    yield share(sum(one.is_near for one in answers), len(answers))
    yield share(sum(one.is_decided for one in answers), len(answers))


def _shares(scored: Counter[str]) -> Iterator[str]:
    for score in (RIGHT, WRONG, UNDECIDED):
        yield share(scored[score], scored.total())


def share(hits: int, of: int) -> str:
    """The share in per cent, with its 95% interval by Wilson."""
    if not of:
        return "-"
    within = stats.binomtest(hits, of).proportion_ci(method="wilson")
    return f"{100 * hits / of:.0f} ({100 * within.low:.0f}-{100 * within.high:.0f})"


def _head(names: Sequence[str]) -> Iterator[str]:
    yield _row(*names)
    yield f"|{'---|' * len(names)}"


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"
