"""Finds a run and one verified checkpoint of it, for using its policy elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.config.run import RunConfig
from harness.errors import ConfigError, DataError
from harness.records import checkpoints, compatibility, manifest, run_folder, run_status
from harness.records.checkpoints import Checkpoint
from harness.records.provenance import MadeBy, RunIdentity
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus

MOST_NAMED = 12
"""Number of kept steps that an error message lists."""


@dataclass(frozen=True)
class TrainedRun:
    """A run and one verified checkpoint of it."""

    run: RunFolder
    config: RunConfig
    status: RunStatus
    checkpoint: Checkpoint
    passed_over: tuple[str, ...] = ()
    """Descriptions of newer checkpoints that are damaged."""

    @property
    def files(self) -> Path:
        """The folder with a language model's weights and tokenizer, as the libraries saved them."""
        return self.checkpoint.path / checkpoints.MODEL

    @property
    def is_adapted(self) -> bool:
        """Whether only adapters were trained; the checkpoint then contains no other weights."""
        return self.config.policy.kind == "hf" and self.config.policy.lora_rank > 0


def find(folder: Path, step: int | None = None) -> TrainedRun:
    """Return the run in `folder` and its checkpoint of `step`, by default the newest undamaged one.

    Raises ConfigError if the config was changed or the checkpoint of `step` was not kept, and
    DataError if there is no checkpoint, or if it is damaged or belongs to another run.
    """
    run = RunFolder(folder)
    status, config = run_status.read(run.status), run_folder.read_config(run)
    change = compatibility.config_change(run, status)
    if change:
        raise ConfigError(change)
    checkpoint, passed_over = _checkpoint(run, config, status, step)
    return TrainedRun(run, config, status, checkpoint, tuple(passed_over))


def every(folder: Path) -> list[TrainedRun]:
    """Return the run in `folder` with each of its kept checkpoints, earliest first.

    Raises as `find` does, also if any checkpoint is damaged, since a gap would go unnoticed.
    """
    kept = checkpoints.all_in(RunFolder(folder).checkpoints)
    return [find(folder, step) for step in sorted(checkpoints.step_of(path) for path in kept)]


def _checkpoint(
    run: RunFolder, config: RunConfig, status: RunStatus, step: int | None
) -> tuple[Checkpoint, list[str]]:
    identity = RunIdentity(
        status.config_hash,
        config.seed if status.seed is None else status.seed,
        status.start_model,
        MadeBy(status.versions, status.git),
    )
    kept = checkpoints.all_in(run.checkpoints)
    if not kept:
        rule = f"saved every {config.trainer.checkpoint_every} steps (trainer.checkpoint_every)"
        raise DataError(f"{run.checkpoints}: must hold a checkpoint, {rule}, got none")
    if step is None:
        newest, problems = checkpoints.newest(run.checkpoints, identity)
        if newest is None:
            raise DataError(f"{_damage_message(problems[-1])}; no other is undamaged")
        return newest, problems
    matching = [path for path in kept if checkpoints.step_of(path) == step]
    if not matching:
        rule = f"--step must be a step whose checkpoint was kept, {_format_steps(kept)}"
        raise ConfigError(
            f"{run.checkpoints}: {rule}; got {step}: trainer.keep_every=N keeps every N-th"
        )
    problem = manifest.problem(matching[0])
    if problem is not None:
        raise DataError(_damage_message(f"{matching[0]}: {problem}"))
    checkpoint = Checkpoint(step, matching[0], checkpoints.identity_of(matching[0]))
    checkpoints.refuse_another(checkpoint, identity)
    return checkpoint, []


def _damage_message(problem: str) -> str:
    """Return the message for a damaged checkpoint. `problem`: PATH: WHAT."""
    path, _, problem_text = problem.rpartition(": ")
    return f"{path}: a checkpoint must be as it was saved, got: {problem_text}"


def _format_steps(kept: list[Path]) -> str:
    """Return `25, 50, 75`; of more than MOST_NAMED steps, the first ones and the last."""
    steps = [str(checkpoints.step_of(path)) for path in kept]
    if len(steps) <= MOST_NAMED:
        return ", ".join(steps)
    return f"{', '.join(steps[:MOST_NAMED])}, ... {steps[-1]}"
