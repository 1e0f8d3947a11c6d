"""Measure the named levels as they ship, and put their cards into the package and the docs.

    make cards

To be done when the simulator's or the calibration's VERSION is raised;
tests/execution/test_difficulty_cards.py says if it is due.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from harness.compose import planner
from harness.config.difficulty import SHIPPED_LEVELS
from harness.config.run import RunConfig
from harness.execution import difficulty_cards
from harness.records import atomic
from harness.report.tables import validity

DOCS = Path(__file__).parents[1] / "docs" / "simulator.md"
BEGIN = {"scripted": "<!-- validity: held out -->", "second": "<!-- validity of the second -->"}
END = "<!-- end -->"
"""Around the tables of docs/simulator.md, by simulator."""


def main() -> None:
    configs = [
        planner.point([f"difficulty={level}", f"simulator={kind}"]).config
        for kind in BEGIN
        for level in SHIPPED_LEVELS[kind]
    ]
    with ProcessPoolExecutor(2) as pool:
        measured = list(pool.map(difficulty_cards.measure, configs))
    difficulty_cards.SHIPPED.mkdir(exist_ok=True)
    for path in difficulty_cards.SHIPPED.glob("*.json"):
        path.unlink()
    for config, card in zip(configs, measured, strict=True):
        atomic.write_json(_path(config), card)
        print(f"{config.simulator.kind}, {config.difficulty.name}: {_path(config).name}")
    cards = iter(measured)
    for kind, begin in BEGIN.items():
        _into_docs(begin, {level: next(cards) for level in SHIPPED_LEVELS[kind]})


def _into_docs(begin: str, cards: Mapping[str, Any]) -> None:
    """Put the validity of the levels into the page; `cards`: by level."""
    lines = [f"| measure [95%] | {' | '.join(cards)} |", "|---" * (1 + len(cards)) + "|"]
    rows = validity.rows([card["validity_held_out"] for card in cards.values()])
    lines += [f"| {' | '.join([name, *cells])} |" for name, cells in rows]
    before, _, rest = DOCS.read_text(encoding="utf-8").partition(begin)
    text = "\n\n".join([before + begin, "\n".join(lines), END + rest.partition(END)[2]])
    atomic.write_bytes(DOCS, text.encode(), durable=False)


def _path(config: RunConfig) -> Path:
    return difficulty_cards.SHIPPED / difficulty_cards.file_name(difficulty_cards.key(config))


if __name__ == "__main__":
    main()
