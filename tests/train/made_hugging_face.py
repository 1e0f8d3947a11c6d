"""Small models of the Hugging Face kind, and runs of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.config.run import AlgorithmConfig, PolicyConfig, RunConfig, TrainerConfig
from harness.policy import huggingface
from harness.records.run_folder import RunFolder
from tests.train.made import go_on, short

SHORT = short(2)


NOISY = replace(SHORT.easy, reward_noise=20.0)
"""Users understand nothing of random tokens: without noise there is nothing to learn from."""


SMALL = PolicyConfig(
    name="hf", kind="hf", init="random", hidden_size=32, layers=2, attention_heads=4,
    key_value_heads=2, head_size=8, feed_forward_size=64, vocabulary=800, max_turn_tokens=8,
)  # fmt: skip


def config(policy: PolicyConfig, **trainer: Any) -> RunConfig:
    """A short run of `policy`; `trainer`: keys of the trainer that differ."""
    short_run = TrainerConfig(steps=2, conversations=8, eval_every=1000, checkpoint_every=1)
    return RunConfig(
        difficulty=NOISY,
        levels=SHORT,
        policy=policy,
        algorithm=AlgorithmConfig(group_size=4, learning_rate=1e-3),
        trainer=replace(short_run, **trainer),
    )


def rows(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]


def finish(run: RunFolder, stop_after: int | None = None) -> int:
    code, _, err = go_on(run, stop_after)
    assert "Traceback" not in err, err
    return code


def folder_with_a_model(path: Path) -> Path:
    huggingface.load_model(SMALL, None, "cpu").save_pretrained(path)
    huggingface.made_up_tokenizer(SMALL.vocabulary).save_pretrained(path)
    return path


TURNS = (
    "{% for m in messages %}<|user|>{{ m['role'] }}\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|user|>assistant\n{% endif %}"
)


THINKS = TURNS.replace(
    "assistant\n{% endif %}",
    "assistant\n{% if not enable_thinking %}<think></think>{% endif %}{% endif %}",
)


ON_CPU = Path(__file__).parent / "vllm_on_cpu"


FOR_VLLM = PolicyConfig(
    name="hf", kind="hf", init="random", hidden_size=64, layers=2, attention_heads=2,
    key_value_heads=1, head_size=32, feed_forward_size=64, vocabulary=800, max_turn_tokens=8,
)  # fmt: skip
"""Heads of a size that vLLM takes on a CPU."""
