"""harness doctor --gpu: a short trial of a policy on this machine's device, written as a card.

The card holds what was measured, and of what, and names neither folder nor user nor machine, so
that it can be posted.
"""

from __future__ import annotations

import datetime
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from harness.cli import exit_codes, options
from harness.compose import planner
from harness.config import engine_choice, keys
from harness.config.run import RunConfig
from harness.embedded import models as embedded
from harness.errors import EXIT_PARTIAL, ConfigError
from harness.execution import gpu_lease
from harness.law.io import typed_words
from harness.policy import model_files
from harness.records import atomic, provenance
from harness.train.trial.results import Trial, TrialSize
from harness.utils import safe_text

SCHEMA = 1
OUT = Path("device-card")
NO_GPU = "not measured: no CUDA device"
NO_ENGINE = "not measured: the transformers engine has no copy of the weights"
NO_ESTIMATE = "not measured: only Hugging Face models have an estimate"
WIDEST_GAP = 0.1
"""Nats a token, above which a run warns (`train/loop/step_checks.py`)."""
ESTIMATE_WITHIN = 0.15
OK, PROBLEM, NOTE = "ok", "problem", "note"


@dataclass(frozen=True)
class CardRow:
    """One line of the card."""

    name: str
    value: float | None
    """None where it was not measured."""
    unit: str
    wanted: str = ""
    status: str = NOTE
    why: str = ""
    """Why there is no value."""

    @property
    def value_text(self) -> str:
        return self.why if self.value is None else f"{self.value:.4g} {self.unit}".strip()

    @property
    def verdict(self) -> str:
        """The status; empty of a row that only says a number."""
        return self.status if self.wanted or self.status == PROBLEM else ""


def check_device(overrides: Sequence[str], named_out: Path | None, *, as_json: bool) -> int:
    """Measure, write card.json and card.md to `named_out` or to OUT, and print the card.

    Returns 0, or 3 if a measure fails its requirement. Raises ConfigError for a policy that cannot
    be measured, DeviceError if it does not fit into memory.
    """
    out = options.results_folder(named_out, OUT)
    config = planner.point(list(overrides)).config
    if config.policy.kind == "tabular":
        raise ConfigError(
            "policy: must be a language model for --gpu, got tabular, which uses no device; "
            "add policy=tiny or policy=qwen3_0_6b"
        )
    has_gpu = bool(gpu_lease.gpus())
    config = _one_rank_config(config, has_gpu)
    model_files.check(config.policy)
    engine_choice.check(config)
    with gpu_lease.lease(int(has_gpu)) as lease:
        if has_gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = lease.visible
        from harness.train.trial import measure  # which imports torch, and it looks for GPUs

        trial = measure.measure(config)
        card = card_of(trial, config, overrides, device_of(trial))
    rows = rows_of(trial)
    page = markdown(card, rows)
    out.mkdir(parents=True, exist_ok=True)
    atomic.write_json(out / "card.json", card)
    atomic.write_text(out / "card.md", page)
    if as_json:
        exit_codes.print_json(card)
    else:
        print(page, end="")
    safe_text.say(f"results in {out}")
    return EXIT_PARTIAL if any(row.status == PROBLEM for row in rows) else 0


def _one_rank_config(config: RunConfig, has_gpu: bool) -> RunConfig:
    """What one rank of a run does, on one GPU or on the CPU. Raises ConfigError for sharded
    weights, of which one rank has a part.
    """
    if config.trainer.shard != "none":
        raise ConfigError(
            "trainer.shard: must be none for --gpu, which tests a policy on one GPU, got "
            f"{config.trainer.shard}"
        )
    share, single_rank = config.conversations_of_a_rank, config.on_ranks(1)
    trainer = replace(single_rank.trainer, gpus=int(has_gpu), ranks=None, conversations=share)
    if not has_gpu:
        trainer = replace(trainer, engine="transformers", engine_url="")
    return replace(single_rank, trainer=trainer)


def device_of(trial: Trial) -> dict[str, Any]:
    """Describe the device of the trial: the GPU and its memory, or the CPU and its cores."""
    if trial.gpu is not None:
        return {"kind": trial.device, **asdict(trial.gpu)}
    return {"kind": trial.device, "name": _cpu_name(), "cores": gpu_lease.cores()}


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.machine()


def card_of(
    trial: Trial, config: RunConfig, overrides: Sequence[str], device: dict[str, Any]
) -> dict[str, Any]:
    """Return the card as JSON. It has the policy's name and shape, and no path."""
    policy = config.policy
    in_folder = policy.model not in ("", *embedded.MODELS) and model_files.is_path(policy.model)
    model = "a folder" if in_folder else policy.model
    current = provenance.current_versions()
    return {
        "schema": SCHEMA,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "device": device,
        "versions": dict(current.versions),
        "git": current.git,
        "overrides": [word for word in overrides if not _names_location(word)],
        "policy": {
            "name": policy.name, "model": model, "revision": policy.revision,
            "init": policy.init, "dtype": "float32" if trial.device == "cpu" else policy.dtype,
            "lora_rank": policy.lora_rank,
            "gradient_checkpointing": policy.gradient_checkpointing,
        },
        "size": asdict(trial.size),
        "seconds": round(trial.seconds, 1),
        "rows": [asdict(row) for row in rows_of(trial)],
    }  # fmt: skip


def _names_location(word: str) -> bool:
    return keys.names_location(typed_words.key_of(word), word.partition("=")[2])


def rows_of(trial: Trial) -> list[CardRow]:
    """Return every line of the card, measured or not."""
    exact, gap = trial.precision, trial.engine
    rows = [
        CardRow("H of the start policy, in float32", exact.entropy, "nats"),
        CardRow("H in bfloat16 minus float32, mean", exact.entropy_gap, "nats"),
        CardRow("log-probabilities, bfloat16 from float32, mean", exact.logp_gap, "nats a token"),
        CardRow("the same, largest", exact.largest_logp_gap, "nats"),
        _gap_row("engine's log-probabilities from the trainer's", gap.before),
        _gap_row("the same after an update and the sending of its weights", gap.after),
        CardRow("what stale weights would have shown", gap.stale, "nats a token"),
        *_engine_rows(trial),
        *_memory_rows(trial),
        CardRow("rollout", trial.rollout_tokens_per_s, "tokens/s"),
        CardRow("training", trial.training_tokens_per_s, "tokens/s"),
    ]
    return [_without_infinite(row) for row in rows]


def _without_infinite(row: CardRow) -> CardRow:
    """Return the row. A value that is not finite, as of weights that overflow, becomes a problem
    without a value.
    """
    if row.value is None or math.isfinite(row.value):
        return row
    why = f"must be a finite number, got {row.value}"
    return replace(row, value=None, status=PROBLEM, why=why)


def _gap_row(name: str, nats: float) -> CardRow:
    status = OK if nats <= WIDEST_GAP else PROBLEM
    return CardRow(name, nats, "nats a token", f"at most {WIDEST_GAP:g}", status)


def _engine_rows(trial: Trial) -> list[CardRow]:
    """Return the times that an engine with its own copy of the weights takes to wake and to load
    them.
    """
    name = "wake, and send the weights"
    if trial.engine.engine != "transformers":
        return [CardRow(f"{name} ({trial.engine.engine})", trial.engine.send_s, "s")]
    return [CardRow(name, None, "s", why=NO_GPU if trial.device == "cpu" else NO_ENGINE)]


def _memory_rows(trial: Trial) -> list[CardRow]:
    """Return the peak and the estimate of each phase; without a GPU what a GPU would need."""
    if not trial.phases:
        return [CardRow("peak memory", None, "GB", why=NO_ESTIMATE)]
    rows = []
    for phase in trial.phases:
        name = f"peak memory of the {phase.name}"
        if phase.peak is None:
            run = f"for a run's longest step on a GPU, {trial.longest.words}"
            why = f"{NO_GPU}; estimated {run}: {phase.estimated / 1e9:.1f} GB"
            rows.append(CardRow(name, None, "GB", why=why))
            continue
        wanted = f"{phase.estimated / 1e9:.1f} GB ± {ESTIMATE_WITHIN:.0%}"
        deviation = abs(phase.peak / phase.estimated - 1)
        status = OK if deviation <= ESTIMATE_WITHIN else PROBLEM
        rows.append(CardRow(name, phase.peak / 1e9, "GB", wanted, status))
    return rows


def markdown(card: dict[str, Any], rows: Sequence[CardRow]) -> str:
    """Return the card as a Markdown page."""
    device, policy, size = card["device"], card["policy"], TrialSize(**card["size"])
    memory = [f"{device['memory_bytes'] / 1e9:.0f} GB"] if "memory_bytes" in device else []
    versions = ", ".join(f"{name} {version}" for name, version in card["versions"].items())
    trained = f"adapters of rank {policy['lora_rank']}" if policy["lora_rank"] else "all weights"
    command = " ".join(["harness doctor --gpu", *card["overrides"]])
    lines = [
        f"# {policy['name']} on {', '.join([device['name'], *memory])}",
        "",
        f"{card['date']}, `{command}`, {card['seconds']:g} s. {policy['dtype']}, {trained}; "
        f"{size.words}. {versions}.",
        "",
        "| | measured | wanted | |",
        "|---|---|---|---|",
        *(f"| {row.name} | {row.value_text} | {row.wanted} | {row.verdict} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"
