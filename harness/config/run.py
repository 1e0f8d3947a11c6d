"""A run's config: every key that a user can set, by group.

YAML files under conf/ fill in these dataclasses; other keys cannot be set. Each field declares its
rule and the kinds that use it. Each class checks its values when it is built, so that no invalid
config can exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

from harness.config import ranges
from harness.config.algorithm import AlgorithmConfig, RemedyConfig
from harness.config.curriculum import CurriculumConfig, trained_levels
from harness.config.difficulty import (
    ACCEPTANCES,
    DISCLOSURES,
    EMOTIONAL_INTENTIONS,
    INTENTIONS,
    LEVELS,
    MAX_TURNS,
    STRATEGIES,
    TEMPERAMENTS,
    DifficultyConfig,
    LevelsConfig,
)
from harness.config.evaluation import EvalConfig
from harness.config.policy import PolicyConfig
from harness.config.ranges import Between
from harness.config.reward import RewardConfig
from harness.config.simulator import KINDS, SimulatorConfig
from harness.config.trainer import TrainerConfig
from harness.errors import ConfigError

__all__ = [
    "ACCEPTANCES",
    "DISCLOSURES",
    "EMOTIONAL_INTENTIONS",
    "INTENTIONS",
    "LEVELS",
    "MAX_TURNS",
    "SCHEMA",
    "STRATEGIES",
    "TEMPERAMENTS",
    "AlgorithmConfig",
    "CurriculumConfig",
    "DifficultyConfig",
    "EvalConfig",
    "LevelsConfig",
    "PolicyConfig",
    "RemedyConfig",
    "RewardConfig",
    "RunConfig",
    "SimulatorConfig",
    "TrainerConfig",
]

SCHEMA = 1


@dataclass(frozen=True)
class RunConfig:
    """One run: one training, from one config, into one folder."""

    seed: Annotated[int, Between(0, 2**31 - 1)] = 1
    """Seed of all random numbers. Runs that differ only in the seed are pooled as one group."""
    difficulty: DifficultyConfig = field(default_factory=DifficultyConfig)
    levels: LevelsConfig = field(default_factory=LevelsConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    simulator: SimulatorConfig = field(default_factory=SimulatorConfig)
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    remedy: RemedyConfig = field(default_factory=RemedyConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    eval: EvalConfig = field(default_factory=EvalConfig)

    def __post_init__(self) -> None:
        ranges.check("", self)
        if self.trainer.conversations % self.algorithm.group_size:
            raise ConfigError(
                "trainer.conversations must be a multiple of algorithm.group_size "
                f"({self.algorithm.group_size}), got {self.trainer.conversations}"
            )
        if self.policy.kind == "tabular" and self.trainer.engine != "auto":
            raise ConfigError(
                "trainer.engine must be auto with policy.kind tabular, which samples no tokens, "
                f"got {self.trainer.engine}"
            )
        if self.reward.mode == "alliance" and self.simulator.kind not in KINDS:
            raise ConfigError(
                f"reward.mode must not be alliance with simulator.kind={self.simulator.kind}, "
                "since the goals of its users are not known, got alliance"
            )
        if self.difficulty.paths and self.simulator.kind != "scripted":
            raise ConfigError(
                "difficulty.paths must be empty unless simulator.kind is scripted, since other "
                f"users do not follow them, got {', '.join(self.difficulty.paths)} with "
                f"simulator.kind={self.simulator.kind}"
            )
        self._check_shard()
        self._check_adapters()
        self._check_ranks()
        self.curriculum.check_users(self.simulator.kind, self.difficulty, self.levels)

    @property
    def most_replies(self) -> int:
        """Largest number of replies in a conversation of a batch, at any level trained on."""
        levels = trained_levels(self.curriculum, self.difficulty, self.levels)
        return max(level.turn_cap for level in levels)

    @property
    def conversations_of_a_rank(self) -> int:
        """Largest number of conversations per step that one rank draws, always whole groups."""
        size = self.algorithm.group_size
        return size * -(-(self.trainer.conversations // size) // self.trainer.world)

    def on_ranks(self, ranks: int) -> RunConfig:
        """Return the config for `ranks` ranks on one node, one per GPU if the run uses GPUs.

        Raises ConfigError if the run cannot be shared among so many ranks.
        """
        gpus = ranks if self.trainer.gpus else 0
        shard = self.trainer.shard if ranks > 1 else "none"
        parts = self.trainer.engine_tensor_parallel
        trainer = replace(
            self.trainer,
            nodes=1,
            gpus=gpus,
            ranks=None if gpus else ranks,
            runs_per_gpu=self.trainer.runs_per_gpu if ranks == 1 else 1,
            shard=shard,
            engine_tensor_parallel=1 if ranks % parts else parts,
        )
        return replace(self, trainer=trainer)

    def _check_shard(self) -> None:
        """Raise ConfigError if trainer.shard is set and the weights cannot be sharded."""
        trainer, policy, key = self.trainer, self.policy, f"trainer.shard={self.trainer.shard}"
        if trainer.shard == "none":
            return
        if policy.kind == "tabular":
            raise ConfigError(f"{key} shards a language model's weights, got policy.kind=tabular")
        if trainer.world == 1:
            raise ConfigError(
                f"{key} shards weights across ranks, got one rank; set trainer.gpus or "
                "trainer.ranks to 2 or more"
            )
        if policy.lora_rank:
            raise ConfigError(
                f"{key} is for training all weights, policy.lora_rank=0, got "
                f"policy.lora_rank={policy.lora_rank}"
            )
        if trainer.engine == "vllm_colocate":
            raise ConfigError(
                f"{key} needs trainer.engine=transformers, got vllm_colocate, which needs "
                "torch's default process group for itself"
            )

    def _check_adapters(self) -> None:
        """Raise ConfigError if the engine serves adapters and the run trains none."""
        policy = self.policy
        if self.trainer.engine == "vllm_adapters" and not (
            policy.kind == "hf" and policy.lora_rank
        ):
            raise ConfigError(
                "trainer.engine=vllm_adapters is for training LoRA adapters, policy.kind=hf with "
                f"policy.lora_rank above 0, got policy.kind={policy.kind} with "
                f"policy.lora_rank={policy.lora_rank}; vllm_server takes all weights"
            )

    def _check_ranks(self) -> None:
        """Raise ConfigError if the run cannot be shared among its ranks."""
        ranks = self.trainer.world
        if ranks == 1:
            return
        trainer = self.trainer
        key = f"trainer.gpus={trainer.gpus}" if trainer.gpus else f"trainer.ranks={trainer.ranks}"
        key = key if trainer.nodes == 1 else f"trainer.nodes={trainer.nodes}"
        if self.policy.kind == "tabular":
            raise ConfigError(f"policy.kind=tabular trains in one process, got {key}")
        groups = self.trainer.conversations // self.algorithm.group_size
        if groups < ranks:
            raise ConfigError(
                "trainer.conversations must be at least one group per rank, got "
                f"{groups} groups of {self.algorithm.group_size} conversations with {key}"
            )
