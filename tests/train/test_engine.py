"""What lies between an engine and the training: prompts, weights, log-probabilities, deadlines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.config.run import PolicyConfig, TrainerConfig
from harness.errors import StoppedError
from harness.policy import huggingface
from harness.train.engines.engine import (
    PromptedSampler,
    TurnRequest,
    at_once,
    in_time,
    plain_weights,
)
from harness.train.engines.sampler import SampledTurn, Sampler
from harness.train.loop import step_checks
from harness.train.loop.session import open_session
from harness.train.loop.step_checks import GAP, GapWatch
from harness.train.memory import estimate
from harness.train.objective.language_loss import accumulate_gradient, importance
from harness.train.objective.loss_batch import LossBatch
from tests.train.made import brief, make_run
from tests.train.made_hugging_face import SMALL
from tests.train.made_hugging_face import config as hugging_face
from tests.train.made_language import batch, model, plainly

__all__ = ["model"]  # the fixture
END, LIMIT = 3, 5


def recording(model: Any, asks: list[TurnRequest]) -> Callable[[TurnRequest], list[SampledTurn]]:
    """An engine that reads every prompt from its start, and keeps its requests in `asks`."""

    def complete(ask: TurnRequest) -> list[SampledTurn]:
        asks.append(replace(ask, prompts=[list(ids) for ids in ask.prompts]))
        uniforms = torch.from_numpy(np.random.default_rng(ask.seeds).random((len(ask.prompts), 5)))
        sampler = Sampler(model, len(ask.prompts), ask.end, ask.temperature)
        return sampler.speak(range(len(ask.prompts)), ask.prompts, uniforms)

    return complete


def test_a_prompt_is_all_that_was_said_with_the_end_of_a_turn_that_was_cut(model: Any) -> None:
    asks: list[TurnRequest] = []
    sampler = PromptedSampler(at_once(recording(model, asks)), 3, END, 1.5)
    rng = torch.from_numpy(np.random.default_rng(2).random((3, LIMIT)))
    first = sampler.speak([0, 1, 2], [[5, 6], [7], [8, 9, 10]], rng)
    second = sampler.speak([0, 2], [[11], [12, 13]], rng[[0, 2]])
    assert asks[0].prompts == [[5, 6], [7], [8, 9, 10]]
    closed = [t.ids if t.ids[-1] == END else [*t.ids, END] for t in first]
    assert asks[1].prompts == [[5, 6, *closed[0], 11], [8, 9, 10, *closed[2], 12, 13]]
    assert {t.ids[-1] == END for t in [*first, *second]} == {True, False}
    assert (asks[1].limit, asks[1].end, asks[1].temperature) == (LIMIT, END, 1.5)
    assert asks[0].seeds[0] == asks[1].seeds[0] == int(rng[0, 0] * 2**31)
    assert len(set(asks[0].seeds)) == 3


def learnt(policy: PolicyConfig, plain: Any) -> Any:
    """`plain` with adapters that add something."""
    adapted = huggingface.with_adapters(policy, plain)
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.1)
    return adapted


def test_adapters_are_added_in_float32_also_where_passes_are_rounded() -> None:
    """Weights are sent within the context in which conversations are drawn."""
    policy = replace(SMALL, lora_rank=4, dtype="bfloat16")
    adapted = learnt(policy, huggingface.load_model(policy, None, "cpu"))
    wanted = dict(plain_weights(adapted))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        sent = dict(plain_weights(adapted))
        assert torch.is_autocast_enabled("cpu")
    assert sent.keys() == wanted.keys()
    assert all(torch.equal(weight, wanted[name]) for name, weight in sent.items())


@pytest.mark.slow
def test_weights_without_adapters_hold_what_the_adapters_add() -> None:
    policy = replace(SMALL, lora_rank=4, dtype="bfloat16")
    plain = huggingface.load_model(policy, None, "cpu")
    before = {name: weight.clone() for name, weight in plain.named_parameters()}
    adapted = learnt(policy, plain)
    merged_weights = dict(plain_weights(adapted))
    changed = {
        name for name in before if not torch.equal(merged_weights[name], before[name].float())
    }
    assert merged_weights.keys() == before.keys()
    assert changed == {name for name in before if "proj" in name}
    ids = torch.arange(5, 25)[None]
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        wanted = adapted(input_ids=ids).logits
    merged = huggingface.load_model(replace(policy, lora_rank=0), None, "cpu")
    merged.load_state_dict(merged_weights, strict=False)
    with torch.no_grad():
        assert merged(input_ids=ids).logits == pytest.approx(wanted.float(), abs=0.02)
    assert all(torch.equal(w, before[n]) for n, w in huggingface_weights(adapted))


def huggingface_weights(adapted: Any) -> list[tuple[str, torch.Tensor]]:
    """The weights below the adapters, unchanged by them."""
    inner = adapted.get_base_model().named_parameters()
    return [(n.replace(".base_layer", ""), w) for n, w in inner if ".lora_" not in n]


def test_a_tokens_importance_is_the_ratio_of_trainer_to_engine_and_at_most_three() -> None:
    trainer, engine = torch.tensor([-1.0, -1.0, -1.0]), torch.tensor([-1.0, -1.5, -9.0])
    assert importance(trainer, engine).tolist() == pytest.approx([1, np.exp(0.5), 3])
    measured = step_checks.gap_metrics(trainer.numpy(), engine.numpy(), corrected=True)
    assert measured[GAP] == pytest.approx(8.5 / 3)
    assert measured["sampling/sampling_logp_difference/max"] == 8
    assert measured["sampling/importance_sampling_ratio/max"] == 3
    assert (
        step_checks.gap_metrics(trainer.numpy(), engine.numpy(), corrected=False).keys()
        < measured.keys()
    )


def test_the_loss_weighs_each_token_by_its_importance(model: Any) -> None:
    """The loss is linear in the advantage: weights on tokens are weights on advantages."""
    unweighted = batch()
    clip = plainly(unweighted, 0.2, 0.2, 1.0)
    plain = accumulate_gradient(model, unweighted, clip)
    model.zero_grad()
    trainer = [row.logp for row in plain.scored]
    rng = np.random.default_rng(4)
    engine = [logp + torch.from_numpy(rng.normal(0, 1, len(logp))) for logp in trainer]
    by_engine = replace(unweighted, engine_logp=[logp.tolist() for logp in engine])
    result = accumulate_gradient(model, by_engine, clip)
    mine = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    wanted = accumulate_gradient(model, weighted(unweighted, trainer, engine), clip)
    assert result.value == pytest.approx(wanted.value, abs=1e-6)
    assert result.value != pytest.approx(plain.value, abs=1e-3)
    for gradient, parameter in zip(mine, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, atol=1e-6, rtol=1e-4)


def weighted(
    unweighted: LossBatch, trainer: Sequence[torch.Tensor], engine: Sequence[torch.Tensor]
) -> LossBatch:
    weights = [
        importance(mine, theirs).numpy() for mine, theirs in zip(trainer, engine, strict=True)
    ]
    rows = zip(unweighted.advantage, weights, strict=True)
    return replace(
        unweighted, advantage=[(np.array(row) * weight).tolist() for row, weight in rows]
    )


def gaps(
    path: Path, capsys: pytest.CaptureFixture[str], gaps_nats: Sequence[float]
) -> tuple[list[int], str]:
    """The steps that events.jsonl warns of, and all messages, for these gaps."""
    run, config, ended = make_run(path, brief()), brief(), ""
    with open_session(run, config, lambda event: None) as session:
        watch = GapWatch(session)
        try:
            for step, gap_nats in enumerate(gaps_nats, start=1):
                watch.check(step, gap_nats)
        except StoppedError as error:
            ended = str(error)
    events = [json.loads(line) for line in run.events.read_text().splitlines()]
    warned = [e["step"] for e in events if e["event"] == "engine_gap"]
    return warned, capsys.readouterr().err + ended


def test_a_wide_gap_is_warned_of_and_ends_the_run_when_it_persists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warned, messages = gaps(tmp_path / "a", capsys, [0.01, 0.3, 0.3, 0.02, 0.6, 0.6, 0.02])
    assert warned == [2, 3, 5, 6]
    assert (
        messages.count("step 2: the engine's log-probabilities differ from the trainer's by 0.300")
        == 1
    )
    assert "engine gap" not in messages
    _, messages = gaps(tmp_path / "b", capsys, [0.01, 0.6, float("nan"), 0.7, 0.6])
    assert (
        "step 4: engine gap: the log-probabilities of transformers and of the trainer" in messages
    )
    assert "within 0.5 nats a token, differed by 0.700 and by more than 0.5 for 3 steps" in messages
    warned, messages = gaps(tmp_path / "c", capsys, [0.2] * 24)
    assert warned[-1] == 20
    assert "step 20: engine gap" in messages


def test_a_missed_deadline_is_reported_from_another_thread() -> None:
    complaints: list[str] = []
    with in_time(0.05, complaints.append):
        time.sleep(0.15)
    with in_time(60, complaints.append):
        pass
    assert complaints == ["after 0.05 s of waiting for vLLM (trainer.engine_deadline_s)"]


def test_the_memory_estimate_includes_what_vllm_reserves() -> None:
    plain = hugging_face(SMALL)
    trainer = TrainerConfig(gpus=1, engine="transformers", gpu_memory_share=0.25)
    talking, learning = estimate.phases(replace(plain, trainer=trainer), None, 1000)
    trainer = replace(trainer, engine="vllm_colocate")
    shared, asleep = estimate.phases(replace(plain, trainer=trainer), None, 1000)
    assert (talking.parts["vLLM"], shared.parts["vLLM"]) == (0, 250)
    assert shared.parts["keys and values"] * 2 == talking.parts["keys and values"]
    assert asleep == learning
