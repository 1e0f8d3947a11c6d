"""The judge: the start model's likelihood of each reply, in pieces and without adapters."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.compose import planner
from harness.config.run import RemedyConfig, RunConfig
from harness.config.simulator import TYPICALITY_CUT
from harness.policy import huggingface
from harness.train.engines import scoring
from harness.train.engines.sampler import Sampler
from harness.train.loop import start
from harness.train.memory import estimate
from harness.train.objective import registry
from harness.train.rollout.start_judge import ReplyScore, StartJudge, typicality
from tests.simulator.endpoint import serving
from tests.simulator.served import config as served
from tests.train.made import go_on, make_run
from tests.train.made_hugging_face import SMALL, config

END, COUNT = 3, 5
ADAPTED = replace(SMALL, lora_rank=4)


def judged(model: Any, temperature: float = 0.7) -> list[ReplyScore]:
    """The scores of three turns of made-up conversations, of which one ends early."""
    rng, judge = np.random.default_rng(4), StartJudge(model, COUNT, temperature, END)
    scores = []
    for live in (range(COUNT), range(COUNT), [0, 2, 4]):
        heard = [rng.integers(4, 800, rng.integers(1, 9)).tolist() for _ in live]
        replies = [rng.integers(4, 800, rng.integers(1, 7)).tolist() for _ in live]
        replies[0][-1] = END
        scores += judge.judge(live, heard, replies)
    return scores


def with_learnt_adapters() -> Any:
    """A model whose adapters are far from where they began, and change what it says."""
    model = start.load(config(ADAPTED), "cpu").learner
    torch.manual_seed(3)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.3)
    return model


def test_the_learner_without_its_adapters_judges_as_a_copy_of_the_start_does() -> None:
    model = with_learnt_adapters()
    copy = huggingface.load_model(ADAPTED, None, "cpu").requires_grad_(False)
    assert judged(model) == judged(copy)
    assert [p.requires_grad for n, p in model.named_parameters() if "lora_" in n] == [True] * 28
    ids = torch.arange(4, 20)[None]
    with torch.no_grad():
        assert not torch.equal(model(ids).logits, copy(ids).logits)


def test_with_adapters_there_is_one_copy_of_the_weights() -> None:
    made = start.load(config(ADAPTED), "cpu")
    assert made.judge is made.learner
    whole = huggingface.load_model(SMALL, None, "cpu").num_parameters()
    assert sum(p.numel() for n, p in made.learner.named_parameters() if "lora_" not in n) == whole


def with_served_users(
    lora_rank: int = 0, start_model: str = "where_read", url: str = "http://localhost:1/v1"
) -> RunConfig:
    policy = replace(SMALL, lora_rank=lora_rank, start_model=start_model)
    return replace(config(policy), simulator=served(url))


def test_a_sweep_with_served_users_has_the_start_model_where_it_is_read() -> None:
    for words, is_read in (
        (["simulator=served"], False),
        (["simulator=served", "policy.start_model=always"], True),
        (["simulator=served", "remedy=reference_kl"], True),
        (["simulator=served", "algorithm=kto", "trainer.engine=transformers"], True),
        (["simulator=scripted"], True),
    ):
        (point,) = planner.plan(["policy=qwen3_0_6b", *words]).points
        assert registry.reads_start_model(point.config) == is_read, words


@pytest.mark.parametrize("lora_rank", [0, 4])
def test_served_users_have_no_judge_unless_something_reads_it(lora_rank: int) -> None:
    given = with_served_users(lora_rank)
    assert start.load(given, "cpu").judge is None
    asked_for = with_served_users(lora_rank, "always")
    by_remedy = replace(given, remedy=RemedyConfig("reference_kl", {"reference_kl": {}}))
    by_users = replace(given, simulator=config(SMALL).simulator)
    for other in (asked_for, by_remedy, by_users):
        made = start.load(other, "cpu")
        assert (made.judge is made.learner) == (lora_rank > 0)
        assert made.judge is not None


def test_the_estimate_of_memory_leaves_out_a_judge_that_is_not_there() -> None:
    without, beside = (
        estimate.phases(with_served_users(start_model=when), None)[0].parts
        for when in ("where_read", "always")
    )
    assert (without["start model"], beside["start model"]) == (0, beside["weights"])
    assert beside["keys and values"] == 2 * without["keys and values"]


def test_a_run_without_a_judge_has_no_kl_and_trains_as_one_with_it(tmp_path: Path) -> None:
    rows = {}
    with serving() as endpoint:
        for when in ("where_read", "always"):
            run = make_run(tmp_path / when, with_served_users(0, when, endpoint.url))
            code, _, err = go_on(run)
            assert code == 0, err
            rows[when] = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    of_the_judge = ("kl", "text/start_nll", "text/start_z", "text/flagged/typicality")
    for without, beside in zip(rows["where_read"], rows["always"], strict=True):
        assert [without.pop(key) for key in of_the_judge] == [None] * 4
        assert None not in [beside.pop(key) for key in of_the_judge]
        del without["crc32"], beside["crc32"]
        assert without == beside


@pytest.mark.parametrize("at_once", [800, 3 * 800, 2**26])
def test_the_scores_do_not_depend_on_the_pieces(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Some matrix products differ in the last digit with their height."""
    model = huggingface.load_model(SMALL, None, "cpu")
    whole = judged(model)
    monkeypatch.setattr(scoring, "LOGITS_AT_ONCE", at_once)
    seen: list[int] = []

    def counted(states: torch.Tensor, *weights: Any) -> torch.Tensor:
        seen.append(len(states))
        return torch.nn.functional.linear(states, *weights)

    monkeypatch.setattr("harness.train.engines.scoring.linear", counted)
    for now, then in zip(judged(model), whole, strict=True):
        assert now.nll == pytest.approx(then.nll, abs=1e-6)
        assert now.z == pytest.approx(then.z, abs=1e-5)
        assert now.logp == pytest.approx(then.logp, abs=1e-5)
    assert max(seen) * 800 <= at_once


def test_the_scores_are_those_of_a_forward_pass_over_the_whole() -> None:
    model = huggingface.load_model(SMALL, None, "cpu")
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(10)  # so that surprise has some variance
    heard, reply = [5, 6, 7], [9, 10, END]
    (score,) = StartJudge(model, 1, 0.5, END).judge([0], [heard], [reply])
    with torch.no_grad():
        logits = model(torch.tensor([[*heard, *reply]])).logits[0, 2:-1]
    p = torch.softmax(logits.double() / 0.5, -1)
    surprise = -torch.log(p)
    expected = (p * surprise).sum(-1)
    variance = (p * (surprise - expected[:, None]) ** 2).sum()
    excess = surprise[range(3), reply].sum() - expected.sum()
    assert score.z == pytest.approx(float(excess / variance.sqrt()), abs=1e-4)
    for temperature, found in ((1.0, None), (0.5, score.logp)):
        logp = torch.log_softmax(logits / temperature, -1)[range(3), reply]
        if found is None:
            assert score.nll == pytest.approx(-float(logp.mean()), abs=1e-5)
        else:
            assert found == pytest.approx(logp.tolist(), abs=1e-5)


def own_scores(model: Any, count: int, tokens: int, temperature: float = 1.0) -> list[ReplyScore]:
    """Scores of the model's own replies, of one to `tokens` tokens."""
    rng, judge = np.random.default_rng(5), StartJudge(model, count, temperature, END)
    heard = [rng.integers(4, 800, 4).tolist() for _ in range(count)]
    uniforms = torch.from_numpy(rng.random((count, tokens)))
    turns = Sampler(model, count, END, temperature).speak(range(count), heard, uniforms)
    replies = [turn.ids[: 1 + n % tokens] for n, turn in enumerate(turns)]
    return judge.judge(range(count), heard, replies)


@pytest.mark.parametrize(
    ("sharpness", "temperature"), [(1.0, 1.0), (20.0, 1.0), (100.0, 1.0), (20.0, 0.6), (20.0, 1.5)]
)
def test_a_model_s_own_replies_are_typical_however_short_sharp_and_hot(
    sharpness: float, temperature: float
) -> None:
    """No limit in nats has this: these models surprise themselves by 6.7 to 0.0 nats a token."""
    model = huggingface.load_model(SMALL, None, "cpu")
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(sharpness)
    z = np.array([score.z for score in own_scores(model, 400, 12, temperature)])
    assert abs(z.mean()) < 0.2
    assert z.std() < 1.2
    assert np.mean(z > TYPICALITY_CUT) < 0.05


def test_one_unusual_token_where_the_model_was_certain_is_little_evidence() -> None:
    assert typicality(3.0, 0.01, 0.0001) == pytest.approx(2.99)
    assert typicality(30.0, 10.0, 25.0) == pytest.approx(4.0)
    assert typicality(0.0, 10.0, 25.0) == pytest.approx(-2.0)
