"""What vLLM draws in a group of ranks: `python in_parts.py FOLDER RANK SIZE` writes RANK-SIZE.json.

A run's engine with random weights, alone with SIZE 1; each rank of a group has turns of its own.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from harness.config.run import PolicyConfig, RunConfig, TrainerConfig
from harness.policy import huggingface
from harness.train.engines.engine import TurnRequest
from harness.train.engines.vllm_engine import ColocatedEngine
from harness.train.ranks.links import Links, Rendezvous

COUNT, LIMIT, END = 8, 12, 3
TEMPERATURES = {"greedy": 2e-5, "warm": 1.3}
POLICY = PolicyConfig(
    name="hf", kind="hf", init="random", hidden_size=64, layers=2, attention_heads=4,
    key_value_heads=2, head_size=32, feed_forward_size=64, vocabulary=800,
)  # fmt: skip


def request(rank: int, temperature: float) -> TurnRequest:
    """The turns of one rank of two."""
    rng = torch.Generator().manual_seed(rank)
    prompts = torch.randint(4, 800, (COUNT, 10), generator=rng).tolist()
    seeds = [100 * rank + n for n in range(COUNT)]
    return TurnRequest(prompts, seeds, LIMIT, END, temperature)


def main() -> None:
    folder, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(1)
    model = huggingface.load_model(POLICY, None, "cpu")
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(4)
    trainer = TrainerConfig(engine="vllm_colocate", gpu_memory_share=0.1)
    mates: Any = None
    if size > 1:
        links = Links(Rendezvous(folder=folder), rank, size, "cpu", 300.0)
        links.world()
        mates = links.mates(size)
    engine = ColocatedEngine(model, RunConfig(policy=POLICY, trainer=trainer), print, mates)
    told: dict[str, Any] = {}
    own = [rank] if size > 1 else [0, 1]
    with engine.awake(), engine.speaking():
        for name, temperature in TEMPERATURES.items():
            turns = [t for one in own for t in engine.begin(request(one, temperature))()]
            told[name] = [[turn.ids, turn.logp] for turn in turns]
        if rank == 0:  # its neighbour has no more to say
            engine.begin(request(0, 1.0))()
    Path(folder, f"{rank}-{size}.json").write_text(json.dumps(told))
    engine.close()


if __name__ == "__main__":
    main()
