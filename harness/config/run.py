"""What a run is: every key a user can set, with its type, default and range.

YAML under conf/ only fills these dataclasses in; a key that is not here cannot be set.
Each class checks its own ranges when it is built, so that no invalid config exists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.config.policy import PolicyConfig as PolicyConfig
from harness.config.ranges import address, all_of, in_range, one_of
from harness.config.simulator import SimulatorConfig as SimulatorConfig
from harness.config.teaching import CurriculumConfig as CurriculumConfig
from harness.config.teaching import RewardConfig as RewardConfig
from harness.errors import ConfigError

SCHEMA = 1

INTENTIONS = (
    "praise",  # sincerely praise my specific actions
    "not_at_fault",  # agree that I am not at fault
    "venting",  # listen to my venting attentively
    "deep_empathy",  # deep empathy, not plain comfort
    "advice",  # advice that truly solves my difficulty
    "dialectic",  # look at the problem from several sides
    "growth",  # guide me to self-reflection and growth
    "motives",  # analyse why the others acted so
)
"""Eight hidden intentions, four emotional, then four rational (arXiv 2507.03112, Table 5)."""

STRATEGIES = (
    "question",
    "restate",
    "reflect",
    "disclose",
    "affirm",
    "suggest",
    "inform",
    "other",
)
"""What a supporter's reply does: ESConv's eight strategies (arXiv 2106.01144, section 3)."""

EMOTIONAL_INTENTIONS = INTENTIONS[:4]
TEMPERAMENTS = ("negative", "passive", "avoidant")
DISCLOSURES = ("free", "hint", "never")
ACCEPTANCES = ("any_kindness", "reasonable", "goal_fit")
LEVELS = ("easy", "medium", "hard")
TRACKERS = ("wandb", "mlflow", "tensorboard", "trackio")
ENGINES = ("auto", "transformers", "vllm_colocate", "vllm_server")


@dataclass(frozen=True)
class DifficultyConfig:
    """How demanding the simulated user is. The three named levels share start, stop and cap."""

    name: str = "medium"
    start_emotion: int = 40
    """Emotion (0-100) at the opening; RLVER evaluates from 40."""
    disclosure: str = "hint"
    """How the hidden intention shows in the user's words: free, hint or never."""
    acceptance: str = "reasonable"
    """Which replies may raise the emotion: any_kindness, reasonable or goal_fit."""
    threshold: float = 0.0
    """Added reluctance, in logits of P(rise): every reply is this much less likely to help."""
    step_size: int = 5
    """The smaller of the two sizes a change of emotion can have; the larger is twice it."""
    clamp: int = 10
    """Largest change of emotion in one turn."""
    stop_below: int = 10
    """Below this emotion the user leaves; a user who leaves ends at emotion 0."""
    turn_cap: int = 8
    """Replies by the policy after which the conversation ends."""
    intentions: list[str] = field(default_factory=lambda: list(INTENTIONS))
    """Hidden intentions drawn from, uniformly."""
    temperaments: list[str] = field(default_factory=lambda: list(TEMPERAMENTS))
    """Temperaments drawn from, uniformly."""
    reward_noise: float = 0.0
    """sd of noise added to each change as reported to the trainer; own emotion is untouched."""
    reward_flips: float = 0.0
    """Share of changes whose sign is flipped as reported to the trainer."""

    def __post_init__(self) -> None:
        in_range("difficulty.start_emotion", self.start_emotion, 5, 95)
        if self.start_emotion % 5:
            raise ConfigError(
                f"difficulty.start_emotion must be a multiple of 5, got {self.start_emotion}"
            )
        one_of("difficulty.disclosure", self.disclosure, DISCLOSURES)
        one_of("difficulty.acceptance", self.acceptance, ACCEPTANCES)
        in_range("difficulty.threshold", self.threshold, -5, 5)
        if self.step_size not in (5, 10):
            raise ConfigError(f"difficulty.step_size must be 5 or 10, got {self.step_size}")
        if self.clamp not in (5, 10, 15, 20):
            raise ConfigError(f"difficulty.clamp must be 5, 10, 15 or 20, got {self.clamp}")
        in_range("difficulty.stop_below", self.stop_below, 0, 95)
        if self.stop_below > self.start_emotion:
            raise ConfigError(
                f"difficulty.stop_below must not exceed difficulty.start_emotion "
                f"({self.start_emotion}), got {self.stop_below}"
            )
        in_range("difficulty.turn_cap", self.turn_cap, 1, 20)
        all_of("difficulty.intentions", self.intentions, INTENTIONS)
        all_of("difficulty.temperaments", self.temperaments, TEMPERAMENTS)
        in_range("difficulty.reward_noise", self.reward_noise, 0, 100)
        in_range("difficulty.reward_flips", self.reward_flips, 0, 1)


@dataclass(frozen=True)
class LevelsConfig:
    """The named levels as they stood when the run was planned; `eval/LEVEL/reward` uses them."""

    easy: DifficultyConfig = field(default_factory=DifficultyConfig)
    medium: DifficultyConfig = field(default_factory=DifficultyConfig)
    hard: DifficultyConfig = field(default_factory=DifficultyConfig)


@dataclass(frozen=True)
class AlgorithmConfig:
    """GRPO: group-relative advantages and a clipped policy-gradient loss, token mean."""

    name: str = "grpo"
    group_size: int = 8
    """Conversations that share a user and an opening; the baseline is their mean."""
    learning_rate: float = 1e-3
    std_floor: float | None = 0.10
    """Least standard deviation advantages are divided by; 0 = plain division, null = none."""
    std_over: str = "group"
    """The rewards whose standard deviation that is: group or batch."""
    denominator: str = "tokens"
    """Of the summed loss: tokens (their mean), or constant (the most that a batch could hold)."""
    null_control: bool = False
    """Permute whole conversations' advantages inside each group: the same ones, no signal."""
    clip_low: float = 0.2
    clip_high: float = 0.2
    adam_beta1: float = 0.9
    adam_beta2: float = 0.99
    adam_epsilon: float = 1e-3
    """Large on purpose: the usual 1e-8 turns gradient noise into full steps that erode text."""
    max_grad_norm: float = 1.0

    def __post_init__(self) -> None:
        in_range("algorithm.group_size", self.group_size, 2, 1024)
        in_range("algorithm.learning_rate", self.learning_rate, 0, 1e4)
        if self.std_floor is not None:
            in_range("algorithm.std_floor", self.std_floor, 0, 10)
        one_of("algorithm.std_over", self.std_over, ("group", "batch"))
        if self.std_floor is None and self.std_over != "group":
            rule = "must be group where algorithm.std_floor is null, since nothing is divided by it"
            raise ConfigError(f"algorithm.std_over: {rule}, got {self.std_over}")
        one_of("algorithm.denominator", self.denominator, ("tokens", "constant"))
        in_range("algorithm.clip_low", self.clip_low, 0, 1)
        in_range("algorithm.clip_high", self.clip_high, 0, 100)
        in_range("algorithm.adam_beta1", self.adam_beta1, 0, 0.9999)
        in_range("algorithm.adam_beta2", self.adam_beta2, 0, 0.99999)
        in_range("algorithm.adam_epsilon", self.adam_epsilon, 0, 1)
        in_range("algorithm.max_grad_norm", self.max_grad_norm, 0, 1e6)


@dataclass(frozen=True)
class RemedyConfig:
    """What is done to keep entropy alive; `none` does nothing."""

    name: str = "none"
    methods: dict[str, Any] = field(default_factory=dict)
    """Method -> its keys and values, which the files of harness/train/remedies check."""

    def __post_init__(self) -> None:
        if (self.name == "none") != (not self.methods):
            raise ConfigError(
                "remedy.methods must be empty with remedy=none and name a method with any other, "
                f"got {', '.join(self.methods) or 'none'} with {self.name}"
            )


@dataclass(frozen=True)
class TrainerConfig:
    """How long, how much at once, how often to look and to save."""

    name: str = "default"
    steps: int = 100
    conversations: int = 64
    """Conversations of one step, a multiple of algorithm.group_size."""
    updates_per_batch: int = 1
    """Passes over the whole batch, one update each; 1 is strictly on-policy."""
    checkpoint_every: int = 25
    eval_every: int = 10
    conversations_every: int = 25
    """Every how many steps all turns are written to conversations/."""
    threads: int = 1
    """CPU threads of one run; results are byte-equal only at equal threads."""
    gpus: int = 0
    """GPUs that are the run's alone while it runs."""
    report_to: list[str] = field(default_factory=list)
    """Trackers that are told of every row: wandb, mlflow, tensorboard, trackio."""
    grace_s: float = 30.0
    """Seconds a stop request may take before the run is ended without a checkpoint."""
    deadline_s: float | None = None
    """Seconds a step may take before the run is taken for hung and ended, to be resumed."""
    engine: str = "auto"
    """What draws a language model's turns: transformers, vllm_colocate (on the run's own GPU) or
    vllm_server; auto is vllm_colocate for a Hugging Face policy on a GPU where vLLM is installed.
    """
    engine_url: str = ""
    """Of vllm_server: where `vllm serve` listens, as in http://localhost:8000."""
    engine_deadline_s: float = 600.0
    """Seconds vLLM may take for one turn, or to take the weights, before it is taken for hung."""
    gpu_memory_share: float = 0.3
    """Of vllm_colocate: share of the GPU's memory that vLLM may hold while it speaks."""

    def __post_init__(self) -> None:
        in_range("trainer.steps", self.steps, 1, 10_000_000)
        in_range("trainer.conversations", self.conversations, 2, 1_000_000)
        in_range("trainer.updates_per_batch", self.updates_per_batch, 1, 1000)
        in_range("trainer.checkpoint_every", self.checkpoint_every, 1, 10_000_000)
        in_range("trainer.eval_every", self.eval_every, 1, 10_000_000)
        in_range("trainer.conversations_every", self.conversations_every, 1, 10_000_000)
        in_range("trainer.threads", self.threads, 1, 1024)
        in_range("trainer.gpus", self.gpus, 0, 1024)
        in_range("trainer.grace_s", self.grace_s, 0.1, 86_400)
        if self.report_to:
            all_of("trainer.report_to", self.report_to, TRACKERS)
        if self.deadline_s is not None:
            in_range("trainer.deadline_s", self.deadline_s, 0.1, 604_800)
        one_of("trainer.engine", self.engine, ENGINES)
        in_range("trainer.engine_deadline_s", self.engine_deadline_s, 0.1, 604_800)
        in_range("trainer.gpu_memory_share", self.gpu_memory_share, 0.01, 0.95)
        if self.engine_url:
            address("trainer.engine_url", self.engine_url)
        if (self.engine == "vllm_server") != bool(self.engine_url):
            raise ConfigError(
                "trainer.engine_url must say where trainer.engine=vllm_server listens, and be "
                f"empty for the others, got {self.engine_url!r} with {self.engine}"
            )


@dataclass(frozen=True)
class RunConfig:
    """One run: one training from one config into one folder."""

    seed: int = 1
    difficulty: DifficultyConfig = field(default_factory=DifficultyConfig)
    levels: LevelsConfig = field(default_factory=LevelsConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    simulator: SimulatorConfig = field(default_factory=SimulatorConfig)
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    remedy: RemedyConfig = field(default_factory=RemedyConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)

    def __post_init__(self) -> None:
        in_range("seed", self.seed, 0, 2**31 - 1)
        if self.trainer.conversations % self.algorithm.group_size:
            raise ConfigError(
                "trainer.conversations must be a multiple of algorithm.group_size "
                f"({self.algorithm.group_size}), got {self.trainer.conversations}"
            )
        if self.policy.kind == "tabular" and self.trainer.engine != "auto":
            raise ConfigError(
                "trainer.engine must be auto with policy.kind tabular, which draws no tokens, "
                f"got {self.trainer.engine}"
            )
        self.curriculum.check_users(self.simulator.kind, self.difficulty, self.levels)
