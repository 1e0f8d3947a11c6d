"""The parts of a batch that ranks work on at the same time, and the joined result."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from harness.train.objective.loss_batch import LossBatch, LossResult, TokenScores


def by_tokens(lengths: Sequence[int], parts: int) -> list[list[int]]:
    """Divide conversations, by number, into parts with about equally many tokens."""
    members: list[list[int]] = [[] for _ in range(parts)]
    tokens = [0] * parts
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        smallest = tokens.index(min(tokens))
        members[smallest].append(i)
        tokens[smallest] += lengths[i]
    return [sorted(part) for part in members]


def join_results(
    batch: LossBatch,
    parts: Sequence[Sequence[int]],
    results: Sequence[LossResult],
    device: torch.device,
) -> LossResult:
    """Return the result of a batch from those of its parts, which use the batch's denominator."""
    scored: dict[int, TokenScores] = {}
    counts = [sum(sum(batch.own[i]) for i in part) for part in parts]
    for part, result in zip(parts, results, strict=True):
        scored |= {i: row.to(device) for i, row in zip(part, result.scored, strict=True)}

    def share(values: Sequence[float]) -> float:
        weighted = (n * value for n, value in zip(counts, values, strict=True))
        return sum(weighted) / sum(counts)

    return LossResult(
        value=sum(result.value for result in results),
        scored=[scored[i] for i in range(len(batch.ids))],
        low_share=share([result.low_share for result in results]),
        high_share=share([result.high_share for result in results]),
        acted_share=share([result.acted_share for result in results]),
    )
