"""The training loop: length, batch, hardware, and what a run writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from harness.config import ranges
from harness.config.policy import ANY_LANGUAGE_MODEL
from harness.config.ranges import Address, Between, ByOption, Location, OneOf, Only, SomeOf, Unit
from harness.errors import ConfigError

LAST_STEP = 10_000_000
MOST_RANKS = 64
MOST_ON_A_GPU = 32
EVALUATIONS = 20
"""Minimal number of evaluations if trainer.eval_every is null; a verdict needs at least 16."""
STEP_OF_SEVERAL_RANKS_S = 6 * 3600.0
"""Limit for a step of several ranks if trainer.deadline_s is null, since all ranks wait for one
that hangs. torch's limits (10 minutes on GPUs, 30 on a CPU) are for one transfer, but a step
includes the users' time and an evaluation."""
ENGINES = ("auto", "transformers", "vllm_colocate", "vllm_server", "vllm_adapters")
SERVERS = ("vllm_server", "vllm_adapters")
SHARDS = ("none", "full")
STOP_RULES = ("flat", "collapsed")
TRACKERS = ("wandb", "mlflow", "tensorboard", "trackio")
MAY_BE_VLLM = Only("trainer.engine", ("auto", "vllm_colocate", *SERVERS))
ONE_GPU = Only("trainer.gpus", (1,))
MAY_BE_COLOCATED = Only("trainer.engine", ("auto", "vllm_colocate"))


@dataclass(frozen=True)
class TrainerConfig:
    """Length of training, batch size, hardware, and how often a run evaluates and saves."""

    name: Annotated[str, ByOption()] = "default"
    """Name of the trainer option, as shown in results."""
    steps: Annotated[int, Between(1, LAST_STEP), Unit("steps")] = 100
    """Number of training steps. policy=tabular sets 600."""
    conversations: Annotated[int, Between(2, 1_000_000), Unit("conversations")] = 64
    """Conversations per step (batch size). Must be a multiple of algorithm.group_size."""
    updates_per_batch: Annotated[int, Between(1, 1000), Unit("updates")] = 1
    """Optimiser updates per batch, each on the whole batch. 1 is strictly on-policy."""
    tokens_at_once: Annotated[
        int | None, Between(16, 100_000_000), Unit("tokens"), ANY_LANGUAGE_MODEL
    ] = None
    """Maximum tokens, including padding, in a micro-batch (one forward and backward pass); a single
    conversation may exceed it. null: at most 8 conversations, as far as the memory estimate allows.
    If memory runs out, the run continues with half as many, unless trainer.shard=full."""
    checkpoint_every: Annotated[int, Between(1, LAST_STEP), Unit("steps")] = 25
    """Steps between checkpoints."""
    keep_every: Annotated[int, Between(0, LAST_STEP), Unit("steps")] = 0
    """Steps between checkpoints that are kept to the end, besides the two newest. 0 keeps only
    those two."""
    eval_every: Annotated[int | None, Between(0, LAST_STEP), Unit("steps")] = None
    """Steps between evaluations, counted from step 1; the last step is evaluated too. null:
    trainer.steps / 20, rounded down but at least 1, for at least 20 evaluations (fewer only in
    shorter runs). 0: no evaluations."""
    conversations_every: Annotated[int, Between(1, LAST_STEP), Unit("steps")] = 25
    """Steps between saving all turns to conversations/. The first and the last step are always
    saved."""
    threads: Annotated[int, Between(1, 1024)] = 1
    """CPU threads of the run, or of each of its ranks. Results are byte-identical only with the
    same number."""
    gpus: Annotated[int, Between(0, MOST_RANKS), Unit("GPUs")] = 0
    """GPUs reserved for the run, on each of its nodes. With several, each has a rank: a process
    with a copy of the model (in updates with trainer.shard=full, a shard) that samples its share of
    the conversations and computes their gradient."""
    nodes: Annotated[int, Between(1, MOST_RANKS), Unit("nodes"), ANY_LANGUAGE_MODEL] = 1
    """Machines that share the work of the run, each with trainer.gpus GPUs, or trainer.ranks
    processes without GPUs. Several need Slurm, which starts one process on each:
    docs/clusters.md."""
    runs_per_gpu: Annotated[int, Between(1, MOST_ON_A_GPU), Unit("runs"), ONE_GPU] = 1
    """Maximum runs on the run's GPU at once, including this one. With several, each may use its
    share of the GPU's memory, and vLLM reserves its cache without measuring free memory."""
    ranks: Annotated[int | None, Between(1, MOST_RANKS), Unit("processes"), ANY_LANGUAGE_MODEL] = (
        None
    )
    """Processes on each node that share the work of the run. null: one per GPU, or one without
    GPUs."""
    shard: Annotated[str, OneOf(SHARDS), ANY_LANGUAGE_MODEL] = "none"
    """Part of the weights, gradients and Adam moments that each rank holds in an update: a shard
    (full) or all (none). With full, weights are gathered once per step for sampling, and running
    out of memory in an update ends the run. full needs several ranks, policy.lora_rank=0 and
    sampling with transformers."""
    report_to: Annotated[list[str], SomeOf(TRACKERS, may_be_empty=True)] = field(
        default_factory=list
    )
    """Experiment trackers that get every row of metrics. They stay offline unless configured
    otherwise."""
    grace_s: Annotated[float, Between(0.1, 86_400), Unit("seconds")] = 30.0
    """Time that a run has to save a checkpoint after a stop request before it is killed."""
    deadline_s: Annotated[float | None, Between(0.1, 604_800), Unit("seconds")] = None
    """Time limit of one step. A step that takes longer counts as hung: the run ends and can be
    resumed. null: 6 hours on several ranks, which all wait for one that hangs, and no limit on one
    rank."""
    stop_unheard: bool = True
    """Stop the run, which can be resumed, if there is nothing to learn from: more than half of a
    step's replies are not language to the users, or all advantages are 0 for 3 steps in a row (more
    if these have fewer than 24 groups together). If false, with policy.init=random or in a null
    control, only warn."""
    stop_when: Annotated[str | None, OneOf(STOP_RULES), Only("curriculum.kind", ("none",))] = None
    """Rule that ends the run after an evaluation: flat (the expected loss of reward from stopping
    is below .01) or collapsed (the same, and the reward has fallen). `harness resume` continues the
    run without the rule. null: none. See docs/watch.md."""
    engine: Annotated[str, OneOf(ENGINES)] = "auto"
    """Engine that generates a language model's replies: transformers, vllm_colocate (on the run's
    own GPU), vllm_server (receives all weights) or vllm_adapters (a server whose base model several
    runs share, each with its own LoRA adapters). auto: vllm_colocate for a Hugging Face policy on a
    GPU if vLLM is installed and trainer.shard=none, else transformers."""
    engine_url: Annotated[Any, Address(may_be_empty=True, may_be_several=True), Location()] = ""
    """Address of `vllm serve`, such as http://localhost:8000, or a list of them, for
    trainer.engine=vllm_server or vllm_adapters. One server takes one run with vllm_server, and as
    many as its --max-loras with vllm_adapters; a run waits for a free place as for a GPU."""
    engine_deadline_s: Annotated[
        float, Between(0.1, 604_800), Unit("seconds"), ANY_LANGUAGE_MODEL, MAY_BE_VLLM
    ] = 600.0
    """Time limit for vLLM to generate one turn or load new weights, after which it counts as
    hung."""
    engine_tensor_parallel: Annotated[
        int, Between(1, MOST_RANKS), Unit("ranks"), ANY_LANGUAGE_MODEL
    ] = 1
    """Neighbouring ranks that share vLLM's weights by tensor parallelism and generate together.
    Must divide trainer.gpus; above 1 only with trainer.engine=vllm_colocate."""
    waves: Annotated[int | None, Between(1, 65_536), ANY_LANGUAGE_MODEL] = None
    """Parts of a batch whose conversations go on independently: a long reply or a late answer
    delays only its part. With 1, every turn waits for the longest reply and the last answer. null:
    one part per conversation if one vLLM generates, which takes each turn as it comes. transformers
    and tensor-parallel vLLM generate for one part at a time: then 2 with served users, so that one
    part speaks while the users of the other answer, and else 1. More parts than conversations are
    one for each."""
    gpu_memory_share: Annotated[
        float, Between(0.01, 0.95), ANY_LANGUAGE_MODEL, MAY_BE_COLOCATED
    ] = 0.3
    """Share of the GPU's memory, or of the run's part of it, that vLLM may use while generating."""

    def __post_init__(self) -> None:
        ranges.check("trainer", self)
        if self.stop_when is not None and self.eval_every == 0:
            raise ConfigError(
                "trainer.stop_when needs evaluations: set trainer.eval_every above 0, got "
                f"{self.eval_every} with trainer.stop_when={self.stop_when}"
            )
        if self.gpus and self.ranks not in (None, self.gpus):
            raise ConfigError(
                "trainer.ranks must be null or the number of GPUs, since each rank has one, got "
                f"{self.ranks} with trainer.gpus={self.gpus}"
            )
        if self.runs_per_gpu > 1 and (self.nodes > 1 or self.gpus > 1):
            key = f"trainer.nodes={self.nodes}" if self.nodes > 1 else f"trainer.gpus={self.gpus}"
            raise ConfigError(
                "trainer.runs_per_gpu must be 1 for a run on several GPUs or nodes, which does not "
                f"share its GPUs, got {self.runs_per_gpu} with {key}"
            )
        if self.world > MOST_RANKS:
            raise ConfigError(
                f"trainer.nodes must give at most {MOST_RANKS} ranks, got {self.nodes} nodes of "
                f"{self.of_a_node}"
            )
        if self.world > 1 and self.engine in SERVERS:
            raise ConfigError(
                f"trainer.engine={self.engine} gets its weights from one process, got "
                f"{self.world} ranks; choose vllm_colocate or transformers"
            )
        self._check_tensor_parallel()
        if (self.engine in SERVERS) != bool(self.engine_urls):
            raise ConfigError(
                "trainer.engine_url must be the address of the server with "
                "trainer.engine=vllm_server or vllm_adapters, and empty otherwise, got "
                f"{self.engine_url!r} with {self.engine}"
            )

    @property
    def world(self) -> int:
        """Number of ranks."""
        return self.nodes * self.of_a_node

    def _check_tensor_parallel(self) -> None:
        """Raise ConfigError if the ranks cannot share vLLM's weights by tensor parallelism."""
        parts = self.engine_tensor_parallel
        if parts == 1:
            return
        if self.engine != "vllm_colocate":
            raise ConfigError(
                "trainer.engine_tensor_parallel must be 1 unless trainer.engine=vllm_colocate, got "
                f"{parts} with trainer.engine={self.engine}; set trainer.engine=vllm_colocate"
            )
        if self.of_a_node % parts:
            key = "trainer.gpus" if self.gpus else "trainer.ranks"
            raise ConfigError(
                f"trainer.engine_tensor_parallel must divide {key}, since groups are of ranks of "
                f"one node, got {parts} with {key}={self.of_a_node}"
            )

    @property
    def of_a_node(self) -> int:
        """Number of ranks on each node."""
        return self.ranks or max(1, self.gpus)

    @property
    def step_limit_s(self) -> float | None:
        """Seconds after which a step counts as hung; None for no limit."""
        if self.deadline_s is None and self.world > 1:
            return STEP_OF_SEVERAL_RANKS_S
        return self.deadline_s

    @property
    def engine_urls(self) -> tuple[str, ...]:
        """The addresses in `engine_url`."""
        urls = self.engine_url
        return ((urls,) if urls else ()) if isinstance(urls, str) else tuple(urls)

    @property
    def evaluated_every(self) -> int:
        """Steps between evaluations; 0 for no evaluations."""
        return evaluated_every(self.steps, self.eval_every)


def evaluated_every(steps: int, eval_every: int | None) -> int:
    """Return the steps between evaluations; `steps`, `eval_every`: as in a run's trainer config."""
    return max(1, steps // EVALUATIONS) if eval_every is None else eval_every
