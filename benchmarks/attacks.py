"""Gains of attacks on the scripted user: the worst of them, for benchmarks/attacks.md.

python -m benchmarks.attacks [LEVEL ...]
"""

from __future__ import annotations

import sys
import time

from harness.simulator.reference import REFERENCES
from harness.testing.attack_judge import MOST_EXCESS, SEEDS, finals, judge_attacks, significant
from harness.testing.attacks import attacks

WORST = 20


def main() -> None:
    every = attacks()
    print(f"{len(every)} attacks in {len({a.family for a in every})} families")
    for difficulty in sys.argv[1:] or ["medium", "hard"]:
        began = time.process_time()
        judgements = sorted(judge_attacks(difficulty, every), key=lambda j: -j.excess)
        plain = {
            n: finals(difficulty, REFERENCES[n], SEEDS).mean() for n in ("neutral", "attentive")
        }
        over = sum(j.excess > MOST_EXCESS for j in judgements)
        print(f"\n{difficulty}: neutral {plain['neutral']:.1f}, attentive {plain['attentive']:.1f}")
        print(
            f"{len(judgements)} comparisons, {len(significant(judgements))} significant, "
            f"{over} over {MOST_EXCESS:g} points; {time.process_time() - began:.0f} s"
        )
        print("excess         p  put               attack")
        for one in judgements[:WORST]:
            print(one)


if __name__ == "__main__":
    main()
