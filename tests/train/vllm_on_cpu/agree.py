"""What vLLM and the transformers sampler say, turn for turn: `python agree.py` prints JSON.

Conversations of three turns with random users; a model of random weights, turned up so that its
distribution is far from flat.
"""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from harness.config.run import PolicyConfig, RunConfig, TrainerConfig
from harness.policy import huggingface
from harness.train.engines.engine import TurnSampler
from harness.train.engines.sampler import SampledTurn, Sampler
from harness.train.engines.scoring import TokenRow
from harness.train.engines.vllm_engine import ColocatedEngine
from harness.train.objective.own_tokens import own_log_probabilities

COUNT, TURNS, LIMIT, END = 32, 3, 12, 3
GREEDY, WARM = 2e-5, 1.3
POLICY = PolicyConfig(
    name="hf", kind="hf", init="random", hidden_size=64, layers=2, attention_heads=2,
    key_value_heads=1, head_size=32, feed_forward_size=64, vocabulary=800,
)  # fmt: skip
CONFIG = RunConfig(
    policy=POLICY, trainer=TrainerConfig(engine="vllm_colocate", gpu_memory_share=0.1)
)


def rolled_out(sampler: TurnSampler, heard: Any) -> tuple[list[list[SampledTurn]], list[TokenRow]]:
    rng = np.random.default_rng(7)
    rows, replies = [TokenRow() for _ in range(COUNT)], []
    for turn in range(TURNS):
        uniforms = torch.from_numpy(rng.random((COUNT, LIMIT)))
        new = [heard[turn, i].tolist() for i in range(COUNT)]
        replies.append(sampler.speak(range(COUNT), new, uniforms))
        for row, words, reply in zip(rows, new, replies[-1], strict=True):
            row.extend(words)
            row.extend(reply.ids, turn + 1)
            row.extend([END] if reply.ids[-1] != END else [])
    return replies, rows


def tokens(replies: list[list[SampledTurn]]) -> list[list[int]]:
    return [reply.ids for turn in replies for reply in turn]


def largest_gap(model: Any, replies: list[list[SampledTurn]], rows: list[TokenRow]) -> float:
    own = [[turn > 0 for turn in row.turn] for row in rows]
    wanted = torch.cat(own_log_probabilities(model, [row.ids for row in rows], own, WARM))
    sampled = [logp for i in range(COUNT) for turn in replies for logp in turn[i].logp]
    return float((wanted - torch.tensor(sampled)).abs().max())


def main() -> None:
    torch.manual_seed(1)
    heard = np.random.default_rng(5).integers(4, 800, (TURNS, COUNT, 6))
    model = huggingface.load_model(replace(POLICY, lora_rank=4), None, "cpu")
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(4)
    adapted = huggingface.with_adapters(replace(POLICY, lora_rank=4), model)
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.05)
    engine = ColocatedEngine(adapted, CONFIG, print)
    with engine.awake():
        ours, _ = rolled_out(Sampler(adapted, COUNT, END, GREEDY), heard)
        theirs, _ = rolled_out(engine.sampler(COUNT, END, GREEDY), heard)
        drawn, rows = rolled_out(engine.sampler(COUNT, END, WARM), heard)
        again, _ = rolled_out(engine.sampler(COUNT, END, WARM), heard)
        gap = largest_gap(adapted, drawn, rows)
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(0.5)
    with engine.awake():
        synced, later = rolled_out(engine.sampler(COUNT, END, WARM), heard)
    pairs = list(zip(tokens(ours), tokens(theirs), strict=True))
    print(
        json.dumps(
            {
                "same_greedy_turns": float(np.mean([a == b for a, b in pairs])),
                "largest_gap": gap,
                "stale": largest_gap(adapted, drawn, rows),
                "after_a_change": largest_gap(adapted, synced, later),
                "repeats_itself": tokens(drawn) == tokens(again),
                "lengths": sorted({len(ids) for ids in tokens(drawn)}),
            }
        )
    )
    engine.close()


if __name__ == "__main__":
    main()
