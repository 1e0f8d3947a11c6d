"""What each of the newer remedies does to H and to the reward of held-out users, beside none.

    OMP_NUM_THREADS=1 python -m benchmarks.remedy_effects FOLDER [level] [seeds ...]

Tabular runs of 150 steps, those that need more than one update a batch apart from the others and
beside runs of their own without a remedy. Strengths were set for an act's 1.9 nats, before the
runs; they are not tuned. FOLDER keeps the sweeps, and a second call reads what is there. Prints a
Markdown table; remedies.md holds a dated one.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import harness

STEPS = 150
COMMON = (
    "policy=tabular", f"trainer.steps={STEPS}", f"trainer.eval_every={STEPS}", "eval.repeats=4",
    "eval.deaf=false", "eval.ledger=false",
)  # fmt: skip
ARMS: dict[str, tuple[str, ...]] = {
    "none": (),
    "entropy_bonus": ("coefficient=0.05",),
    "repo_r": ("zeta=0.1", "most=1"),
    "repo_d": (),
    "clip_b": ("mu=1",),
    "clip_v": ("mu=1", "share=0.1"),
    "entrocraft": ("lower_start=1.8", "lower_end=1.2", "upper_start=1.9", "upper_end=1.3"),
    "entropy_controller": ("target=1.8", "target_end=1.2", "delta=0.005", "most=0.5"),
    "era": (),
    "turn_band": ("low=0.95", "high=1.05", "coefficient=0.05"),
    "snr_filter": (),
}
OFTEN: dict[str, tuple[str, ...]] = {
    "none": (),
    "clip_higher": (),
    "adapo": (),
    "dppo": (),
}
"""Arms with four updates a batch."""


def swept(folder: Path, remedy: str, keys: tuple[str, ...], words: tuple[str, ...]) -> Path:
    """The folder of an arm's runs, made unless it is there."""
    if not folder.exists():
        own = [f"remedy.methods.{remedy}.{key}" for key in keys]
        command = ["harness", "sweep", f"remedy={remedy}", *own, *COMMON, *words]
        subprocess.run(
            [sys.executable, "-m", *command, "--dir", str(folder)], check=True, capture_output=True
        )
    return folder


def row(name: str, keys: tuple[str, ...], folder: Path, level: str) -> str:
    """Means over seeds, with the range of the final reward."""
    table = harness.load(str(folder)).metrics()
    last = table[table["step"] == STEPS]
    acted = table["remedy/acted"].mean() if name != "none" else None
    reward = last[f"eval/{level}/reward"]
    cells = [
        name,
        " ".join(keys) or "as shipped",
        "" if acted is None else f"{acted:.3f}",
        f"{np.mean(table[table['step'] == 1]['entropy']):.2f}",
        f"{last['entropy'].mean():.2f}",
        f"{last['entropy/probe'].mean():.2f}",
        f"{reward.mean():.3f} ({reward.min():.3f} to {reward.max():.3f})",
    ]
    return f"| {' | '.join(cells)} |"


def main(folder: Path, level: str, seeds: list[str]) -> None:
    words = (f"difficulty={level}", f"eval.levels=[{level}]", f"seed={','.join(seeds)}")
    heads = "remedy", "set", "acted", "H first", "H last", "H probe", "eval/reward"
    for updates, arms in ((1, ARMS), (4, OFTEN)):
        print(f"\ntrainer.updates_per_batch={updates}, {level}, seeds {', '.join(seeds)}\n")
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for name, keys in arms.items():
            own = (*words, f"trainer.updates_per_batch={updates}")
            path = swept(folder / f"{level}-{updates}-{name}", name, keys, own)
            print(row(name, keys, path, level), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(
        Path(sys.argv[1]),
        sys.argv[2] if len(sys.argv) > 2 else "medium",
        sys.argv[3:] or ["101", "102", "103"],
    )
