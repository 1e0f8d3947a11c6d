"""The policy: the supporter that is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from harness.config import ranges
from harness.config.ranges import Between, ByOption, Location, OneOf, Only, Unit, Unless
from harness.errors import ConfigError

TABULAR = Only("policy.kind", ("tabular",))
OBSERVATIONS = ("conversation", "conversation_and_tests", "last_words")
ANY_LANGUAGE_MODEL = Only("policy.kind", ("tiny", "hf"))
TINY = Only("policy.kind", ("tiny",))
BUILT_HERE = Only("policy.kind", ("tabular", "tiny"))
HF = Only("policy.kind", ("hf",))
START_MODELS = ("always", "where_read")
WIDTHS = ("all", "narrow")
"""Strategies that the start policy uses: all, or a few with about the same reward."""


@dataclass(frozen=True)
class PolicyConfig:
    """The policy that is trained as the supporter."""

    name: Annotated[str, ByOption()] = "tiny"
    """Name of the policy, as shown in results."""
    kind: Annotated[str, OneOf(("tabular", "tiny", "hf")), ByOption()] = "tiny"
    """Kind of policy: tabular (softmax over strategies, in numpy), tiny (small transformer,
    pretrained here) or hf (causal model from the Hugging Face Hub or a local folder)."""
    temperature: Annotated[float, Between(0.05, 10)] = 1.0
    """Sampling temperature."""
    observation: Annotated[str, OneOf(OBSERVATIONS), TABULAR] = "last_words"
    """Features of a tabular policy. conversation: everything heard and played so far, with weights
    shared over the turns, and replies that take up the newest fact. last_words: only the user's
    last message, with separate weights for each turn, which hardly learns to listen.
    conversation_and_tests: conversation, and the path in difficulty.paths by which the last message
    tests the policy."""
    prior_temperature: Annotated[float, Between(0.1, 10), TABULAR] = 1.0
    """Temperature of a tabular policy's prior, which divides the log prior: below 1 the start
    policy is narrower, above 1 more uniform. Unlike policy.temperature, it does not scale learned
    logits."""
    warm_start_strategies: Annotated[str, OneOf(WIDTHS), BUILT_HERE] = "all"
    """Strategies that the start policy uses often. narrow: only question, disclose and affirm in
    92% of replies, which earn policy=tabular about as much as all; the others remain possible. Sets
    the pretraining data of policy=tiny and the prior of policy=tabular."""
    max_turn_tokens: Annotated[int, Between(4, 32_768), Unit("tokens"), ANY_LANGUAGE_MODEL] = 32
    """Maximum number of tokens in one reply, including thinking."""

    model: Annotated[str, Location(), HF] = ""
    """Model id on the Hub (OWNER/NAME), path of a local folder, or smollm2_135m, a model that is
    installed as a package."""
    revision: Annotated[str, HF] = ""
    """Commit or tag on the Hub; empty for a local folder."""
    init: Annotated[str, OneOf(("pretrained", "random")), HF] = "pretrained"
    """Initial weights: those of the model (pretrained), or random ones with the shape below and an
    artificial vocabulary (random), for measuring speed."""
    system_prompt: Annotated[str, HF] = ""
    """System message at the start of every conversation; empty for none."""
    thinking: Annotated[bool, HF] = False
    """Let the model think before it replies, if its chat template supports that."""
    dtype: Annotated[str, OneOf(("float32", "bfloat16")), ANY_LANGUAGE_MODEL] = "float32"
    """Data type of forward passes on a GPU; a CPU uses float32. The language-model head and trained
    weights stay in float32."""
    attention: Annotated[str, OneOf(("sdpa", "eager", "flash_attention_2")), HF] = "sdpa"
    """Attention implementation of transformers. flash_attention_2 is refused, since it takes no
    mask for conversations of different lengths."""
    lora_rank: Annotated[int, Between(0, 1024), HF] = 0
    """Rank of the LoRA adapters on all linear layers except the head; 0 trains all weights."""
    lora_alpha: Annotated[
        int,
        Between(1, 10_000),
        HF,
        Unless("policy.lora_rank", (0,), "no adapters are trained"),
    ] = 32
    """Scale of the LoRA adapters: their output is multiplied by lora_alpha / lora_rank."""
    start_model: Annotated[str, OneOf(START_MODELS), ANY_LANGUAGE_MODEL] = "always"
    """When the start model scores replies for kl and text/start_*: always, or only where the scores
    are used (where_read): by users that are not language models, a remedy or the algorithm.
    policy=hf and the hub models set where_read: in a run that trains all weights, the start model
    is a second copy."""
    gradient_checkpointing: Annotated[bool, HF] = False
    """Recompute activations in the backward pass: less memory, more time."""

    architecture: Annotated[str, OneOf(("qwen2", "qwen3", "llama")), HF] = "qwen3"
    """Architecture of a model with random weights. For a pretrained model, this key and the shape
    below only serve to estimate disk space."""
    hidden_size: Annotated[int, Between(16, 16_384), ANY_LANGUAGE_MODEL] = 128
    """Width of the residual stream."""
    layers: Annotated[int, Between(1, 128), ANY_LANGUAGE_MODEL] = 2
    """Number of transformer layers."""
    attention_heads: Annotated[int, Between(1, 128), ANY_LANGUAGE_MODEL] = 4
    """Number of attention heads."""
    key_value_heads: Annotated[int, Between(0, 128), HF] = 0
    """Number of key and value heads; must divide attention_heads. 0: half of attention_heads."""
    head_size: Annotated[int, Between(0, 1024, multiple_of=2), HF] = 0
    """Size of one attention head. 0: hidden_size / attention_heads."""
    feed_forward_size: Annotated[int, Between(0, 131_072), HF] = 0
    """Width of the feed-forward layers. 0: three times hidden_size."""
    tied_head: Annotated[bool, HF] = True
    """Share weights between the input embedding and the language-model head."""
    vocabulary: Annotated[int, Between(400, 1_000_000), Unit("tokens"), ANY_LANGUAGE_MODEL] = 1600
    """Size of the vocabulary. With policy.kind=tiny, the byte-pair vocabulary is trained on
    generated dialogues."""

    warm_start_copy_steps: Annotated[int, Between(0, 100_000), Unit("steps"), TINY] = 120
    """Pretraining steps on dialogues whose replies repeat what the user said, to teach copying.
    They precede warm_start_steps."""
    warm_start_steps: Annotated[int, Between(1, 100_000), Unit("steps"), TINY] = 1150
    """Supervised pretraining steps on generated dialogues, before reinforcement learning."""
    warm_start_learning_rate: Annotated[float, Between(1e-6, 1), TINY] = 8.0e-3
    """Learning rate of the pretraining."""
    warm_start_retold: Annotated[float, Between(0, 1), TINY] = 0.9
    """Share of pretraining dialogues that are retold with other facts and topics, so that the model
    learns to copy instead of memorising."""

    def __post_init__(self) -> None:
        ranges.check("policy", self)
        if self.key_value_heads and self.attention_heads % self.key_value_heads:
            raise ConfigError(
                "policy.key_value_heads must divide policy.attention_heads "
                f"({self.attention_heads}), got {self.key_value_heads}"
            )
        if not self.head_size and self.hidden_size % (2 * self.attention_heads):
            raise ConfigError(
                f"policy.hidden_size must be a multiple of 2 * policy.attention_heads "
                f"({2 * self.attention_heads}), got {self.hidden_size}"
            )
