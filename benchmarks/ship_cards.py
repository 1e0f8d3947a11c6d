"""Measure the named levels as they ship, and put their cards into the package.

    make cards

To be done after any change of what plays or measures a user; tests/test_cards.py says if it is due.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from harness import cards, launch
from harness.config import LEVELS, RunConfig
from harness.records import atomic


def main() -> None:
    configs = [point.config for point in launch.plan([f"difficulty={','.join(LEVELS)}"]).points]
    with ProcessPoolExecutor(2) as pool:
        measured = list(pool.map(cards.measure, configs))
    cards.SHIPPED.mkdir(exist_ok=True)
    for path in cards.SHIPPED.glob("*.json"):
        path.unlink()
    for config, card in zip(configs, measured, strict=True):
        atomic.write_json(_path(config), card)
        print(f"{config.difficulty.name}: {_path(config).name}")


def _path(config: RunConfig) -> Path:
    return cards.SHIPPED / cards.file_name(cards.key(config))


if __name__ == "__main__":
    main()
