"""What speaks to the user, and of what shape; a part of config.py."""

from __future__ import annotations

from dataclasses import dataclass

from harness.config.ranges import in_range, one_of, unheeded
from harness.errors import ConfigError

POLICY_KINDS = ("tabular", "tiny", "hf")
ARCHITECTURES = ("qwen2", "qwen3", "llama")
INITS = ("pretrained", "random")
DTYPES = ("float32", "bfloat16")
OF_HF = (
    "model", "revision", "init", "system_prompt", "thinking", "lora_rank", "gradient_checkpointing",
)  # fmt: skip
ATTENTIONS = ("sdpa", "eager", "flash_attention_2")


@dataclass(frozen=True)
class PolicyConfig:
    """What speaks to the user."""

    name: str = "tiny"
    kind: str = "tiny"
    """tabular (softmax over strategies, numpy), tiny (a small transformer, built here) or hf (a
    causal model of the Hugging Face hub, or of a folder)."""
    temperature: float = 1.0
    max_turn_tokens: int = 32
    """Tokens the policy may say in one turn; a language model's only."""

    model: str = ""
    """Of hf: an id on the hub, or a folder."""
    revision: str = ""
    """Commit or tag on the hub; empty for a folder."""
    init: str = "pretrained"
    """random: the shape below with random weights and a made-up vocabulary, for work on speed."""
    system_prompt: str = ""
    thinking: bool = False
    """Whether the model thinks before it speaks, where its template knows that."""
    dtype: str = "float32"
    """Of the forward passes, but for the head, which is fp32; weights that learn stay fp32."""
    attention: str = "sdpa"
    lora_rank: int = 0
    """0 trains every weight; else adapters of this rank on every linear layer but the head."""
    lora_alpha: int = 32
    gradient_checkpointing: bool = False

    architecture: str = "qwen3"
    """The shape: of tiny, of hf with random weights, and for the estimate of memory."""
    hidden_size: int = 64
    layers: int = 2
    attention_heads: int = 2
    key_value_heads: int = 0
    """0: half of attention_heads."""
    head_size: int = 0
    """0: hidden_size by attention_heads."""
    feed_forward_size: int = 0
    """0: three times hidden_size."""
    tied_head: bool = True
    vocabulary: int = 1200
    """Of tiny: the byte-pair vocabulary trained on the project's own dialogues."""

    warm_start_copy_steps: int = 500
    """Supervised steps on random tokens said again, before any dialogue: it learns to copy."""
    warm_start_steps: int = 1300
    """Supervised steps on generated dialogues before any reinforcement learning."""
    warm_start_learning_rate: float = 1.0e-2

    def __post_init__(self) -> None:
        one_of("policy.kind", self.kind, POLICY_KINDS)
        in_range("policy.temperature", self.temperature, 0.05, 10)
        in_range("policy.max_turn_tokens", self.max_turn_tokens, 4, 32_768)
        one_of("policy.init", self.init, INITS)
        one_of("policy.dtype", self.dtype, DTYPES)
        one_of("policy.attention", self.attention, ATTENTIONS)
        one_of("policy.architecture", self.architecture, ARCHITECTURES)
        in_range("policy.lora_rank", self.lora_rank, 0, 1024)
        in_range("policy.lora_alpha", self.lora_alpha, 1, 10_000)
        self._check_shape()
        in_range("policy.warm_start_copy_steps", self.warm_start_copy_steps, 0, 100_000)
        in_range("policy.warm_start_steps", self.warm_start_steps, 1, 100_000)
        in_range("policy.warm_start_learning_rate", self.warm_start_learning_rate, 1e-6, 1)

        if self.kind != "hf":
            unheeded("policy", self, OF_HF, "Hugging Face models")

    def _check_shape(self) -> None:
        in_range("policy.hidden_size", self.hidden_size, 16, 16_384)
        in_range("policy.layers", self.layers, 1, 128)
        in_range("policy.attention_heads", self.attention_heads, 1, 128)
        in_range("policy.key_value_heads", self.key_value_heads, 0, self.attention_heads)
        in_range("policy.head_size", self.head_size, 0, 1024)
        in_range("policy.feed_forward_size", self.feed_forward_size, 0, 131_072)
        in_range("policy.vocabulary", self.vocabulary, 400, 1_000_000)
        if self.head_size % 2:
            rule = "policy.head_size must be even, since positions turn its halves"
            raise ConfigError(f"{rule}, got {self.head_size}")
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
