"""The source of a probed policy: a run's start or checkpoint, or a model's folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from harness.compose import planner
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.probes.results import START
from harness.records import checkpoints, policy_file, run_folder, trained_run
from harness.records.policy_file import PolicyFile
from harness.records.run_folder import RunFolder
from harness.records.trained_run import TrainedRun

ADAPTERS = "adapter_config.json"


@dataclass(frozen=True)
class PolicySource:
    """A policy with fixed weights, not yet loaded."""

    config: RunConfig
    where: Path
    """File of the config."""
    weights: Path | None
    """Saved weights; None for the start policy."""
    step: int
    start_model: str | None = None
    """sha256 of the start model, if recorded."""
    shown: str = ""
    """Name shown to users."""
    knows_start: bool = True
    """Whether the start policy is known."""
    left_out: tuple[str, ...] = ()
    """Keys of the config that are unknown."""
    checkpoint: str | None = None
    """sha256 of the checkpoint's manifest; None for the start policy and a model's folder."""
    passed_over: tuple[str, ...] = ()
    """Newer, damaged checkpoints of the run, and their damage."""

    @property
    def start(self) -> PolicySource:
        """The start policy. Raises ConfigError if it is unknown."""
        if not self.knows_start:
            raise ConfigError(
                f"{self.where}: policy.model must name the start model of the policy, got nothing: "
                "give a run or another folder to compare with as --against"
            )
        return replace(
            self, weights=None, step=START, shown="the start", checkpoint=None, passed_over=()
        )


def of(folder: Path, step: int | None) -> PolicySource:
    """Return the policy of a run at a step, by default the last intact checkpoint, or of a model's
    folder.

    Raises ConfigError and DataError as `trained_run.find` and `policy_file.read` do.
    """
    if not policy_file.is_model(folder):
        return _from_run(trained_run.find(folder, step))
    if step is not None:
        raise ConfigError(
            f"--step must be given with a run, since {folder} holds one model, got {step}"
        )
    return _from_folder(folder, _read(folder))


def all_checkpoints(folder: Path) -> list[PolicySource]:
    """Return each kept checkpoint of a run, earliest first. Raises as `of` does."""
    if policy_file.is_model(folder):
        raise ConfigError(f"--along must be given with a run, since {folder} holds one model")
    return [_from_run(run) for run in trained_run.every(folder)]


def config_of(folder: Path) -> tuple[RunConfig, Path]:
    """Return the config of a run or a model's folder, and its file. Raises Data- or ConfigError."""
    if policy_file.is_model(folder):
        return _read(folder).config, folder / policy_file.NAME
    run = RunFolder(folder)
    return run_folder.read_config(run), run.config


def _read(folder: Path) -> PolicyFile:
    """Return the content of the folder's file, with shipped levels for those that it lacks."""
    if not (folder / policy_file.NAME).is_file():
        raise ConfigError(
            f"{folder}: the folder of a model must have {policy_file.NAME} in it, which says how "
            "the policy speaks, got none: `harness export` writes it, docs/probes.md shows one"
        )
    content = policy_file.read(folder)
    if not content.levels_lacking:
        return content
    with planner.only_shipped_options():
        shipped = planner.point(["policy=tabular"]).config.levels
    shipped_levels = {name: getattr(shipped, name) for name in content.levels_lacking}
    config = replace(content.config, levels=replace(content.config.levels, **shipped_levels))
    return replace(content, config=config)


def _from_run(trained: TrainedRun) -> PolicySource:
    weights = trained.checkpoint.path if trained.config.policy.kind == "tabular" else trained.files
    step, sum_of_start = trained.checkpoint.step, trained.status.start_model
    return PolicySource(
        trained.config, trained.run.config, weights, step, sum_of_start, f"step {step}",
        checkpoint=checkpoints.sum_of(trained.checkpoint), passed_over=trained.passed_over,
    )  # fmt: skip


def _from_folder(folder: Path, content: PolicyFile) -> PolicySource:
    """Return the policy in a model's folder.

    Raises ConfigError for a tabular policy, and for adapters without a model.
    """
    where, policy = folder / policy_file.NAME, content.config.policy
    if policy.kind == "tabular":
        rule = "policy.kind must be tiny or hf of the folder of a model"
        raise ConfigError(f"{where}: {rule}, got tabular")
    is_adapted = (folder / ADAPTERS).is_file()
    knows_start = policy.kind == "tiny" or policy.init == "random" or bool(policy.model)
    if is_adapted and not (knows_start and policy.lora_rank):
        rule = "policy.model and policy.lora_rank must say what the adapters were trained on"
        raise ConfigError(f"{where}: {rule}, got {policy.model!r} and {policy.lora_rank}")
    if not is_adapted:
        policy = replace(policy, lora_rank=0)
    weights: Path | None = folder
    if not knows_start:
        policy, weights = replace(policy, model=str(folder.resolve())), None
    config = replace(content.config, policy=policy)
    start_model = content.start_model if knows_start else None
    fields = (config, where, weights, content.step, start_model)
    return PolicySource(*fields, "the model", knows_start, content.left_out)
