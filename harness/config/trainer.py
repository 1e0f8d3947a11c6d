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
SERVED_USERS = Only("simulator.kind", ("served",))
MAY_BE_COLOCATED = Only("trainer.engine", ("auto", "vllm_colocate"))


@dataclass(frozen=True)
class TrainerConfig:
    """Length of training, batch size, hardware, and how often a run evaluates and saves."""

    name: Annotated[str, ByOption()] = "default"
    """Name of the trainer's option, under which the run is filed."""
    steps: Annotated[int, Between(1, LAST_STEP), Unit("steps")] = 100
    """Training steps. policy=tabular sets 600."""
    conversations: Annotated[int, Between(2, 1_000_000), Unit("conversations")] = 64
    """Conversations per step (batch size); a multiple of algorithm.group_size."""
    updates_per_batch: Annotated[int, Between(1, 1000), Unit("updates")] = 1
    """Optimiser updates on each batch, each over the whole batch. 1 is strictly on-policy."""
    tokens_at_once: Annotated[
        int | None, Between(16, 100_000_000), Unit("tokens"), ANY_LANGUAGE_MODEL
    ] = None
    """Most tokens, padding included, in one forward and backward of an update; one conversation
    alone may have more. null: as many as the memory estimate holds, of at most 8 conversations.
    Where memory runs out, the run goes on with half as many, unless trainer.shard=full."""
    checkpoint_every: Annotated[int, Between(1, LAST_STEP), Unit("steps")] = 25
    """Steps between checkpoints."""
    keep_every: Annotated[int, Between(0, LAST_STEP), Unit("steps")] = 0
    """Steps between checkpoints that are kept to the end, beside the two newest. 0: none are."""
    eval_every: Annotated[int | None, Between(0, LAST_STEP), Unit("steps")] = None
    """Steps between evaluations, counted from step 1; the last step is evaluated too. null for a
    twentieth of trainer.steps, rounded down: at least 20 evaluations, or one at each step of a run
    that has fewer. 0: none is made."""
    conversations_every: Annotated[int, Between(1, LAST_STEP), Unit("steps")] = 25
    """Steps between writing all turns to conversations/; the first and the last step are always
    written."""
    threads: Annotated[int, Between(1, 1024)] = 1
    """CPU threads of one run. Results are byte-equal only with the same number of threads."""
    gpus: Annotated[int, Between(0, MOST_RANKS), Unit("GPUs")] = 0
    """GPUs reserved for the run, on each of its nodes. With several, each has a rank of the run: a
    process with a copy of the model (a part of it in updates with trainer.shard=full) that draws
    its share of the conversations and of the gradient."""
    nodes: Annotated[int, Between(1, MOST_RANKS), Unit("nodes"), ANY_LANGUAGE_MODEL] = 1
    """Machines that share the work of the run, each with trainer.gpus GPUs, or trainer.ranks
    processes without. Several need Slurm, which starts one process on each: docs/clusters.md."""
    runs_per_gpu: Annotated[int, Between(1, MOST_ON_A_GPU), Unit("runs"), ONE_GPU] = 1
    """Runs that may be on the run's GPU at once, this one among them. With several, a run has that
    part of the GPU's memory, and vLLM reserves its cache without measuring what is free."""
    ranks: Annotated[int | None, Between(1, MOST_RANKS), Unit("processes"), ANY_LANGUAGE_MODEL] = (
        None
    )
    """Processes of each node that share the work of a run: null for one a GPU, or one without.
    trainer.threads is the threads of each."""
    shard: Annotated[str, OneOf(SHARDS), ANY_LANGUAGE_MODEL] = "none"
    """Whether each rank has a part of the weights, gradients and moments in an update (full) or all
    of them (none). With full, conversations are drawn with whole weights, which are gathered once a
    step, and memory that runs out in an update ends the run. Needs several ranks and
    policy.lora_rank=0, and draws with transformers."""
    report_to: Annotated[list[str], SomeOf(TRACKERS, may_be_empty=True)] = field(
        default_factory=list
    )
    """Experiment trackers that get every row of metrics; offline unless they are told otherwise."""
    grace_s: Annotated[float, Between(0.1, 86_400), Unit("seconds")] = 30.0
    """Time that a run has to save a checkpoint after a stop request before it is killed."""
    deadline_s: Annotated[float | None, Between(0.1, 604_800), Unit("seconds")] = None
    """Time limit of one step. A step that takes longer counts as hung: the run ends and can be
    resumed. null for 6 hours on several ranks, which all wait for one that hangs, and for no limit
    on one."""
    stop_unheard: bool = True
    """Stop, to be resumed, where there is nothing to learn from: more than half of a step's replies
    are no language to the users, or all advantages are 0 for 3 steps that have 24 groups, else for
    as many as have. With policy.init=random, of a null control, and where it is false, this is only
    said."""
    stop_when: Annotated[str | None, OneOf(STOP_RULES), Only("curriculum.kind", ("none",))] = None
    """End the run after an evaluation where its expected loss is below .01: at any such (flat), or
    only if the reward has fallen too (collapsed), not where entropy alone is spent. harness resume
    goes on without the rule. null for never: docs/watch.md."""
    engine: Annotated[str, OneOf(ENGINES)] = "auto"
    """Engine that generates a language model's replies: transformers, vllm_colocate (on the run's
    own GPU), vllm_server (takes all weights) or vllm_adapters (a server whose base several runs
    share, each with LoRA adapters of its own). auto is vllm_colocate for a Hugging Face policy on a
    GPU if vLLM is installed and trainer.shard=none, else transformers."""
    engine_url: Annotated[Any, Address(may_be_empty=True, may_be_several=True), Location()] = ""
    """Address of `vllm serve`, as in http://localhost:8000; for trainer.engine=vllm_server and
    vllm_adapters. With vllm_server each run has one of a list to itself, with vllm_adapters as many
    runs as its --max-loras share one; a run waits for its place as for a GPU."""
    engine_deadline_s: Annotated[
        float, Between(0.1, 604_800), Unit("seconds"), ANY_LANGUAGE_MODEL, MAY_BE_VLLM
    ] = 600.0
    """Time limit of vLLM for one turn or for loading new weights, after which it counts as hung."""
    engine_tensor_parallel: Annotated[
        int, Between(1, MOST_RANKS), Unit("ranks"), ANY_LANGUAGE_MODEL
    ] = 1
    """Neighbouring ranks that have vLLM's weights in parts and draw their turns together, for
    trainer.engine=vllm_colocate; must divide trainer.gpus."""
    waves: Annotated[int | None, Between(1, 65_536), ANY_LANGUAGE_MODEL, SERVED_USERS] = None
    """Parts of a batch that talk with served users independently of each other: while the users of
    one think, another speaks, and a late answer keeps only its own part waiting. Of 1 all wait for
    each answer; as many as conversations each go on by themselves. null for that where vLLM draws,
    which takes up each turn as it comes, and for 2 where transformers does or vLLM in parts, which
    draw for one part after the other."""
    gpu_memory_share: Annotated[
        float, Between(0.01, 0.95), ANY_LANGUAGE_MODEL, MAY_BE_COLOCATED
    ] = 0.3
    """Share of the GPU's memory, or of the run's part of it, that vLLM may use while it
    generates."""

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
                "trainer.runs_per_gpu must be 1 for a run on several GPUs or nodes, which has its "
                f"GPUs to itself, got {self.runs_per_gpu} with {key}"
            )
        if self.world > MOST_RANKS:
            raise ConfigError(
                f"trainer.nodes must give at most {MOST_RANKS} ranks, got {self.nodes} nodes of "
                f"{self.of_a_node}"
            )
        if self.world > 1 and self.engine in SERVERS:
            raise ConfigError(
                f"trainer.engine={self.engine} takes its weights from one process, got "
                f"{self.world} ranks; choose vllm_colocate or transformers"
            )
        self._check_tensor_parallel()
        if (self.engine in SERVERS) != bool(self.engine_urls):
            raise ConfigError(
                "trainer.engine_url must say where the server of trainer.engine=vllm_server or "
                "vllm_adapters listens, and be empty for the others, got "
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
