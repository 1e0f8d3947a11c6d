"""Acts of grounding per 100 utterances of human supporters, by the reader of the scripted user.

    python -m benchmarks.grounding_anchor FILE

FILE is your own copy of a split of ESConv (see docs/calibration.md); nothing of it is kept. Each
text counts once. The interval is of a proportion over utterances, resampled.
"""

from __future__ import annotations

import sys
from pathlib import Path

from harness.calibration.interval import mean
from harness.calibration.validity import esconv
from harness.probes.grounding import GROUNDING
from harness.simulator.scripted.sentence_reader import recognise
from harness.train.rollout.qualities import SOLVING


def main(path: Path) -> None:
    """Print what the reader hears, and what people annotated, in 100 utterances."""
    annotated = esconv.utterances(path)
    heard = [recognise(text) for _, text in annotated]
    rows = {"grounding": GROUNDING, **{name: (name,) for name in GROUNDING}, "solving": SOLVING}
    print(f"{len(annotated)} utterances; per 100: by the reader [95%], annotated")
    for name, acts in rows.items():
        counted = [sum(act in strategies for act in acts) for strategies in heard]
        if name == "solving":
            counted = [min(count, 1) for count in counted]
        found = mean(counted)
        stated = sum(label in acts for label, _ in annotated) / len(annotated)
        assert found is not None
        low, high = 100 * found.low, 100 * found.high
        print(f"{name:10} {100 * found.value:5.1f} [{low:.1f}, {high:.1f}]  {100 * stated:5.1f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
