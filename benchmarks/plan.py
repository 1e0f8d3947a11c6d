"""Whether studies of the planned size decide as often as `harness plan` says.

    python -m benchmarks.plan made [plans per cell] [first seed] [number of a truth...]
    python -m benchmarks.plan law [plans per cell] [first seed]
    python -m benchmarks.plan real PATH... [plans] [first seed]
    python -m benchmarks.plan ship PATH...       writes harness/planning/spreads.json

`made`: pilots and studies whose numbers are drawn, with a known spread over seeds, a known part of
it that is the evaluation's, and a difference that grows over the run. `law`: whole runs of known
ceilings, read, fitted and compared as `harness fit-entropy-law` does it. `real`: pilots of three
seeds of finished runs below PATH, planned for the difference that all of them show; the other
seeds are the study. Prints Markdown; benchmarks/plan.md holds a dated result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.plan_made import made
from benchmarks.plan_runs import law, real
from benchmarks.plan_ship import ship

FIRST_SEED = 2_000_000
PLANS = 200


def main(words: Sequence[str]) -> None:
    kind, rest = words[0], words[1:]
    numbers = [int(word) for word in rest if word.isdigit()]
    paths = [Path(word) for word in rest if not word.isdigit()]
    plans, first = [*numbers[:2], *(PLANS, FIRST_SEED)[len(numbers) :]]
    began = time.process_time()
    if kind == "ship":
        ship(paths)
    elif kind == "real":
        real(paths, plans, first)
    elif kind == "law":
        law(plans, first)
    else:
        made(plans, first, numbers[2:])
    print(f"\n{time.process_time() - began:.0f} s of CPU", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
