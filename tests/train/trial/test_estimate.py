"""The memory estimate against what torch allocates, phase by phase."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from transformers import Qwen3Model

from harness.config.run import RemedyConfig
from harness.policy import huggingface
from harness.testing.live_bytes import PeakMemory
from harness.train.engines.engine import TransformersEngine
from harness.train.engines.scoring import own_states
from harness.train.loop import start
from harness.train.loop.language_critic import actions_of
from harness.train.memory import estimate
from harness.train.objective import micro_batches
from harness.train.rollout.speaker import TokenTrajectory
from harness.train.trial import step
from harness.train.trial.results import TrialSize
from tests.train.made_hugging_face import SMALL, config

SHAPE = replace(
    SMALL, hidden_size=192, layers=6, head_size=48, feed_forward_size=512, vocabulary=8000
)


def test_the_count_of_bytes_is_that_of_the_cpu_allocator() -> None:
    model = huggingface.load_model(SHAPE, None, "cpu")
    ids = torch.randint(0, 400, (4, 60))

    def work() -> None:
        states = own_states(model, ids, torch.ones_like(ids).bool())
        model.get_output_embeddings()(states).logsumexp(-1).sum().backward()

    work()  # what a first pass makes and keeps is none of it
    model.zero_grad()
    there = sum(p.nbytes for p in model.parameters()) + sum(b.nbytes for b in model.buffers())
    counted = PeakMemory([model], torch.optim.AdamW(model.parameters())).over(work).peak_bytes
    model.zero_grad()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        work()
    totals = list[int]()
    events = list(profiled.profiler.kineto_results.experimental_event_tree())
    while events:
        event = events.pop()
        events += event.children
        if event.tag.name == "Allocation":
            totals.append(event.extra_fields.total_allocated)
    assert counted is not None
    assert counted - there == pytest.approx(max(totals), rel=0.01)


@pytest.mark.parametrize(
    ("rank", "again", "turns"),
    [
        (8, True, 4),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in ((0, False, 4), (0, True, 4), (8, False, 4), (0, False, 1))
        ),
    ],
)
def test_the_estimate_of_each_phase_is_within_15_percent_of_what_is_allocated(
    rank: int, again: bool, turns: int
) -> None:
    """Also where the conversations of evaluations are longer than those that are learnt from."""
    policy = replace(SHAPE, lora_rank=rank, gradient_checkpointing=again, max_turn_tokens=24)
    given = config(policy)
    given = replace(given, difficulty=replace(given.difficulty, turn_cap=turns))
    models = start.load(given, "cpu")
    optimiser = step.optimiser_of(given, models, 1e-6)
    meter = PeakMemory({id(m): m for m in (models.learner, models.judge)}.values(), optimiser)
    engine = TransformersEngine(models.learner)
    size = step.full_size(given)
    drawn = meter.over(lambda: step.rollout(given, models, engine, size))
    shorter = step.rollout(given, models, engine, step.trained_size(given, size))
    learnt = meter.over(lambda: step.learn(given, models, shorter, optimiser))
    prompt = len(models.chat.opening(""))
    estimated = estimate.phases(given, None, prompt_tokens=prompt, device="cpu")
    for phase, measured in zip(estimated, (drawn.peak_bytes, learnt.peak_bytes), strict=True):
        assert phase.total == pytest.approx(measured, rel=0.15), str(phase)


def test_what_a_critic_of_tokens_reads_is_within_the_estimate_of_an_update() -> None:
    """A GPU has states of a micro-batch at a time; the CPU has all: as they are read, of unit
    length, joined, and in float64. Here both are in one memory.
    """
    policy = replace(SHAPE, max_turn_tokens=24, gradient_checkpointing=True)
    given = config(policy, tokens_at_once=400, conversations=32)
    models = start.load(given, "cpu")
    optimiser = step.optimiser_of(given, models, 1e-6)
    meter = PeakMemory({id(m): m for m in (models.learner, models.judge)}.values(), optimiser)
    size = step.trained_size(given, step.full_size(given))
    drawn = step.rollout(given, models, TransformersEngine(models.learner), size)
    limit = micro_batches.begin(given.trainer, None)

    def read(some: list[TokenTrajectory]) -> int:
        peak = meter.over(lambda: actions_of(some, models.learner, limit, by_token=True)).peak_bytes
        assert peak is not None
        return peak

    first, *_ = limit.cut(models.learner, [len(t.row.ids) for t in drawn])
    _, update = estimate.phases(
        given, None, prompt_tokens=len(models.chat.opening("")), device="cpu"
    )
    assert read([drawn[i] for i in first]) < update.total
    tokens = sum(turn > 0 for t in drawn for turn in t.row.turn)
    held = sum(update.parts[part] for part in ("weights", "start model", "optimiser"))
    assert read(drawn) - held == pytest.approx(20 * tokens * policy.hidden_size, rel=0.01)


def test_the_entropies_that_a_remedy_needs_are_taken_in_parts_as_the_update_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remedy = RemedyConfig("forking_tokens", {"forking_tokens": {"share": 0.5}})
    given = replace(config(SMALL, tokens_at_once=16), remedy=remedy)
    models = start.load(given, "cpu")
    size = TrialSize(conversations=4, turns=2, turn_tokens=8)
    talked = step.rollout(given, models, TransformersEngine(models.learner), size)
    passes, plain = list[tuple[bool, int]](), Qwen3Model.forward

    def forward(self: Any, *arguments: Any, **named: Any) -> Any:
        passes.append((torch.is_grad_enabled(), len(named["input_ids"])))
        return plain(self, *arguments, **named)

    monkeypatch.setattr(Qwen3Model, "forward", forward)
    step.learn(given, models, talked, step.optimiser_of(given, models, 1e-4))
    entropies = [rows for learns, rows in passes if not learns]
    assert entropies == [1, 1, 1, 1], "each conversation alone has more tokens than the limit"
    assert [rows for learns, rows in passes if learns] == entropies


def test_without_a_limit_to_its_gradient_the_trial_makes_an_update_as_a_run_does() -> None:
    """With algorithm.max_grad_norm=0, which clips nothing."""
    given = config(SMALL)
    given = replace(given, algorithm=replace(given.algorithm, max_grad_norm=0.0))
    models = start.load(given, "cpu")
    size = TrialSize(conversations=4, turns=1, turn_tokens=4)
    talked = step.rollout(given, models, TransformersEngine(models.learner), size)
    before = [weight.clone() for weight in models.learner.parameters()]
    step.learn(given, models, talked, step.optimiser_of(given, models, 1e-2))
    pairs = zip(before, models.learner.parameters(), strict=True)
    assert any(not torch.equal(weight, moved) for weight, moved in pairs)
