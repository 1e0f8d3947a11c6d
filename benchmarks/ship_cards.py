"""Measure the named levels as they ship, and put their cards into the package.

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


def _path(config: RunConfig) -> Path:
    return difficulty_cards.SHIPPED / difficulty_cards.file_name(difficulty_cards.key(config))


if __name__ == "__main__":
    main()
