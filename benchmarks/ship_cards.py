"""Measure the named levels as they ship, and put their cards into the package and the docs.

    make cards

To be done when the simulator's or the calibration's VERSION is raised;
tests/execution/test_difficulty_cards.py says if it is due.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from harness.compose import planner
from harness.config.run import LEVELS, RunConfig
from harness.execution import difficulty_cards
from harness.records import atomic
from harness.report.tables import validity

DOCS = Path(__file__).parents[1] / "docs" / "simulator.md"
BEGIN, END = "<!-- validity: held out -->", "<!-- end -->"
"""Around the table of docs/simulator.md."""


def main() -> None:
    configs = [point.config for point in planner.plan([f"difficulty={','.join(LEVELS)}"]).points]
    with ProcessPoolExecutor(2) as pool:
        measured = list(pool.map(difficulty_cards.measure, configs))
    difficulty_cards.SHIPPED.mkdir(exist_ok=True)
    for path in difficulty_cards.SHIPPED.glob("*.json"):
        path.unlink()
    for config, card in zip(configs, measured, strict=True):
        atomic.write_json(_path(config), card)
        print(f"{config.difficulty.name}: {_path(config).name}")
    held_out = {
        level: card["validity_held_out"] for level, card in zip(LEVELS, measured, strict=True)
    }
    lines = [f"| measure [95%] | {' | '.join(held_out)} |", "|---" * (1 + len(held_out)) + "|"]
    rows = validity.rows(list(held_out.values()))
    lines += [f"| {' | '.join([name, *cells])} |" for name, cells in rows]
    before, _, rest = DOCS.read_text(encoding="utf-8").partition(BEGIN)
    text = "\n\n".join([before + BEGIN, "\n".join(lines), END + rest.partition(END)[2]])
    atomic.write_bytes(DOCS, text.encode(), durable=False)


def _path(config: RunConfig) -> Path:
    return difficulty_cards.SHIPPED / difficulty_cards.file_name(difficulty_cards.key(config))


if __name__ == "__main__":
    main()
