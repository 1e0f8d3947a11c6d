"""Whether updates of weights that FSDP2 shards are those of one process, by the loss of a run.

    python -m benchmarks.sharded_update [ranks] [small|whole]

Each rank is a process with a part of every weight (torch's `fully_shard`, over gloo), a part of the
conversations, and an AdamW of its own. Ranks have micro-batches of their own number, so those with
fewer end with empty ones: each forward and backward gathers weights from all. The norm of the whole
gradient is taken from the parts' norms. The model is a random Llama of SmolLM2's layout (tied head,
three query heads to a key head), small or of SmolLM2-135M's whole shape. Prints the largest
difference of any weight after each of three updates, and the bytes of weights, gradients and
moments that a rank keeps between updates. docs/decisions/2026-11-26-sharded-weights.md says what it
is for.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from transformers import LlamaConfig, LlamaForCausalLM

from harness.config.run import AlgorithmConfig, RunConfig
from harness.train.engines import scoring
from harness.train.objective import language_loss, registry
from harness.train.objective.loss_batch import LossBatch, LossSettings
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import TokenSelection
from harness.train.ranks.batch_parts import by_tokens
from harness.train.ranks.sharded import as_many
from harness.train.ranks.shards import sharded

UPDATES, CONVERSATIONS, WORDS = 3, 13, 320
RATE, MOST_NORM = 1e-3, 0.05
SHAPES = {
    "small": LlamaConfig(
        vocab_size=WORDS, hidden_size=72, intermediate_size=192, num_hidden_layers=3,
        num_attention_heads=9, num_key_value_heads=3, head_dim=8, tie_word_embeddings=True,
    ),
    "whole": LlamaConfig(
        vocab_size=49_152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
        num_attention_heads=9, num_key_value_heads=3, head_dim=64, tie_word_embeddings=True,
    ),
}  # fmt: skip
TOKENS_AT_ONCE = 160


def model(shape: str) -> Any:
    torch.manual_seed(1)
    return LlamaForCausalLM(SHAPES[shape]).eval()


def batch(update: int) -> LossBatch:
    """Conversations of unlike lengths, of which about half of the tokens are the policy's own."""
    rng = np.random.default_rng(update)
    ids = [rng.integers(0, WORDS, n).tolist() for n in rng.integers(20, 80, CONVERSATIONS)]
    own = [[*(bool(n and rng.random() < 0.5) for n in range(len(row) - 1)), True] for row in ids]
    return LossBatch(ids, own, [rng.normal(0, 1, sum(row)).tolist() for row in own], None)


def settings(conversations: LossBatch) -> LossSettings:
    """GRPO's loss, a mean over the own tokens of the whole batch."""
    config, count = AlgorithmConfig(), conversations.tokens
    stack = RemedyStack(registry.algorithm_of(RunConfig(algorithm=config)), config, ())
    none = np.zeros(count, bool)
    selection = TokenSelection(np.ones(count), none, none, (), 0.0, None)
    return LossSettings(stack, selection, 1.0, count)


def cut(conversations: LossBatch, members: Sequence[int]) -> list[list[int]]:
    """A rank's micro-batches, by number within its part."""
    lengths = [len(conversations.ids[i]) for i in members]
    return scoring.by_length(lengths, len(lengths), TOKENS_AT_ONCE)


def learn(learner: Any, update: int, rank: int, ranks: int) -> None:
    """Add the gradient of a rank's conversations up over the ranks."""
    whole = batch(update)
    parts = by_tokens([len(row) for row in whole.ids], ranks)
    cuts = as_many([cut(whole, part) for part in parts])
    mine, own = whole.some(parts[rank]), settings(whole).some(whole.places(parts[rank]))
    language_loss.accumulate(learner, mine, own, cuts[rank])


def clipped(learner: Any) -> None:
    """Scale the gradient as torch.nn.utils.clip_grad_norm_ does, by the norm of all parts."""
    grads = [local(p.grad) for p in learner.parameters()]
    square = torch.stack([grad.double().square().sum() for grad in grads]).sum()
    if dist.is_initialized():
        dist.all_reduce(square)
    scale = min(1.0, MOST_NORM / (float(square) ** 0.5 + 1e-6))
    for grad in grads:
        grad.mul_(scale)


def local(tensor: Any) -> Any:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def trained(learner: Any, rank: int, ranks: int) -> tuple[list[dict[str, Any]], int]:
    """The weights after each update, and the bytes that the rank keeps between updates."""
    optimiser = torch.optim.AdamW(learner.parameters(), lr=RATE, weight_decay=0.0)
    after = []
    for update in range(UPDATES):
        learn(learner, update, rank, ranks)
        clipped(learner)
        optimiser.step()
        kept = [*learner.parameters(), *(p.grad for p in learner.parameters())]
        kept += [t for state in optimiser.state.values() for t in state.values() if t.dim()]
        size = sum(local(t).numel() * 4 for t in kept)
        optimiser.zero_grad()
        whole = {name: p.detach() for name, p in learner.named_parameters()}
        after.append({n: (t.full_tensor() if ranks > 1 else t).clone() for n, t in whole.items()})
    return after, size


def run(rank: int, ranks: int, shape: str, folder: str) -> None:
    """One rank."""
    torch.set_num_threads(1)
    store = dist.FileStore(str(Path(folder) / "store"), ranks)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    mesh = dist.device_mesh.init_device_mesh("cpu", (ranks,))
    after, size = trained(sharded(model(shape), mesh), rank, ranks)
    if rank == 0:
        torch.save((after, size), Path(folder) / "after.pt")
    dist.barrier()
    dist.destroy_process_group()


def main(ranks: int, shape: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        started = multiprocessing.get_context("spawn")
        processes = [
            started.Process(target=run, args=(n, ranks, shape, folder)) for n in range(ranks)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        after, size = torch.load(Path(folder) / "after.pt")
    wanted, whole_size = trained(model(shape), 0, 1)
    start = {name: p.detach() for name, p in model(shape).named_parameters()}
    print("| update | largest difference of a weight | largest change since the start |")
    print("|---|---|---|")
    for number, (one, other) in enumerate(zip(wanted, after, strict=True), start=1):
        apart = max(float((one[name] - other[name]).abs().max()) for name in one)
        moved = max(float((one[name] - start[name]).abs().max()) for name in one)
        print(f"| {number} | {apart:.1e} | {moved:.1e} |")
    print(f"\nkept between updates: {size / whole_size:.3f} of one process's {whole_size} bytes")


if __name__ == "__main__":
    count, chosen, *_ = [*sys.argv[1:], *("2", "small")[len(sys.argv) - 1 :]]
    main(int(count), chosen)
