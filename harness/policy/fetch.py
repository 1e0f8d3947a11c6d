"""Where the weights of a Hugging Face model lie: a folder of one's own, or the hub's cache.

Nothing here imports torch or transformers, so that a model that does not exist is told at once.
"""

from __future__ import annotations

from pathlib import Path

from harness.config import PolicyConfig
from harness.errors import ConfigError

WEIGHTS = ("*.safetensors", "*.json", "*.model", "*.txt", "*.jinja")
"""What is downloaded: no pickled weights, no code."""


def check(policy: PolicyConfig) -> None:
    """Raise ConfigError for what no download could mend."""
    if policy.kind != "hf" or policy.init == "random":
        return
    if not policy.model:
        raise ConfigError("policy.model must be an id on the hub or a folder, got nothing")
    if _is_path(policy.model):
        _check_folder(Path(policy.model).expanduser())
    elif policy.model.count("/") != 1:
        raise ConfigError(
            f"policy.model must be a folder that exists or OWNER/NAME on the hub, "
            f"got {policy.model!r}"
        )


def ensure(policy: PolicyConfig) -> Path | None:
    """The folder with the model's files, downloaded if missing; None for random weights.

    Raises ConfigError if there is no such model, or none that can be reached.
    """
    check(policy)
    if policy.init == "random":
        return None
    if _is_path(policy.model):
        return Path(policy.model).expanduser()
    return Path(_snapshot(policy))


def _snapshot(policy: PolicyConfig) -> str:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    revision = policy.revision or None
    try:
        return snapshot_download(policy.model, revision=revision, local_files_only=True)
    except LocalEntryNotFoundError:
        pass  # not here yet
    try:
        return snapshot_download(policy.model, revision=revision, allow_patterns=list(WEIGHTS))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        at = f" at revision {policy.revision}" if policy.revision else ""
        raise ConfigError(
            f"policy.model must be a folder or a model on the hub that can be reached, "
            f"got {policy.model!r}{at}: {str(error).strip().splitlines()[0]}"
        ) from error


def _is_path(model: str) -> bool:
    return model.startswith((".", "/", "~")) or Path(model).is_dir()


def _check_folder(folder: Path) -> None:
    for name in ("config.json", "tokenizer_config.json"):
        if not (folder / name).is_file():
            raise ConfigError(
                f"policy.model: {folder} must be a folder with {name} in it, found none"
            )
    if not any(folder.glob("*.safetensors")):
        raise ConfigError(f"policy.model: {folder} must hold *.safetensors, found none")
