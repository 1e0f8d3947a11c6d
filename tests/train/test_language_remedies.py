"""Remedies on a language model: what its sampler notes for them, and a run with many at once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.config.run import AlgorithmConfig, RemedyConfig
from harness.train.engines.sampler import Sampler
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.objective.loss_batch import LossSettings
from harness.train.objective.own_tokens import own_entropies, own_mean_discriminants
from harness.train.policy_gradient.losses import MOST_IMPORTANCE
from harness.train.remedies.reference_kl import ReferenceKl
from tests.train.made import go_on, make_run, stack_of, unselective
from tests.train.made_language import alone, batch, model
from tests.train.made_language_runs import config, rows_of, run_here
from tests.train.made_remedies import gradient_of

__all__ = ["model"]  # the fixture
MANY = {
    "clip_higher": {"clip_high": 0.3},
    "forking_tokens": {"share": 0.5},
    "reference_kl": {"coefficient": 0.01},
    "entropy_controller": {"target": 10.0, "delta": 0.001},
    "dynamic_sampling": {"tries": 3},
    "soft_overlong": {"buffer": 0.9},
}


def test_the_sampler_notes_the_entropy_of_what_it_draws_from(model: Any) -> None:
    heard = [[5, 6], [7], [8, 9, 10]]
    uniforms = torch.from_numpy(np.random.default_rng(2).random((3, 6)))
    silent, noting = (Sampler(model, 3, 3, 1.5, note) for note in (False, True))
    noted = noting.speak([0, 1, 2], heard, uniforms)
    plain = silent.speak([0, 1, 2], heard, uniforms)
    assert [turn.ids for turn in noted] == [turn.ids for turn in plain]
    assert not any(turn.entropy_nats for turn in plain)
    ids = [[*h, *turn.ids] for h, turn in zip(heard, noted, strict=True)]
    own = [[False] * len(h) + [True] * len(t.ids) for h, t in zip(heard, noted, strict=True)]
    for turn, wanted in zip(noted, own_entropies(model, ids, own, 1.5), strict=True):
        np.testing.assert_allclose(turn.entropy_nats, wanted, atol=1e-5)


def test_an_importance_weight_multiplies_the_policys_term_alone(model: Any) -> None:
    """Not what holds the policy near its start, nor the bonus: as in TRL."""
    rng = np.random.default_rng(4)
    conversations = batch()
    sizes = [sum(row) for row in conversations.own]
    engine = [rng.normal(-2.5, 0.5, size).tolist() for size in sizes]
    weighed = replace(conversations, engine_logp=engine)
    count = sum(sizes)
    start = rng.normal(-2.5, 0.5, count)
    method = ReferenceKl(coefficient=0.3)
    selection = unselective(count, (start,), bonus=0.2)
    settings = LossSettings(stack_of(AlgorithmConfig(), method), selection, 1.0, count)
    accumulate_gradient(model, weighed, settings)
    mine = [p.grad.clone() for p in model.parameters()]

    logp = torch.cat(alone(model, conversations, 1.0))
    by_engine = torch.from_numpy(np.concatenate(engine)).float()
    weight = (logp.detach() - by_engine).exp().clamp(max=MOST_IMPORTANCE)
    assert weight.std() > 0.3
    advantage = torch.from_numpy(np.concatenate(conversations.advantage)).float()
    away = torch.from_numpy(start).float() - logp
    policy = -(weight * advantage * (logp - logp.detach()).exp()).sum()
    loss = policy + 0.3 * (away.exp() - away - 1).sum() - 0.2 * entropies_of(model, conversations)
    for given, wanted in zip(mine, gradient_of(model, loss / count), strict=True):
        torch.testing.assert_close(given, wanted, atol=1e-5, rtol=1e-3)


def entropies_of(model: Any, conversations: Any) -> torch.Tensor:
    """The sum of H at the own tokens, one conversation at a time."""
    total = torch.zeros(())
    for ids, own in zip(conversations.ids, conversations.own, strict=True):
        log_p = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0, :-1], -1)
        total = total - (log_p.exp() * log_p).sum(-1)[torch.tensor(own[1:])].sum()
    return total


def test_mean_discriminants_are_those_of_the_distribution(model: Any) -> None:
    conversations = batch()
    mine = own_mean_discriminants(model, conversations.ids, conversations.own, 1.3)
    for ids, own, given in zip(conversations.ids, conversations.own, mine, strict=True):
        p = torch.softmax(model(input_ids=torch.tensor([ids])).logits[0, :-1] / 1.3, -1).double()
        by_word = p * (p.log() - (p * p.log()).sum(-1, keepdim=True))
        wanted = (p * by_word).sum(-1)[torch.tensor(own[1:])]
        torch.testing.assert_close(given.double(), wanted.detach(), atol=1e-5, rtol=0)


@pytest.mark.slow
def test_many_remedies_at_once_act_and_are_resumed_byte_for_byte(tmp_path: Path) -> None:
    # at such a rate its words are soon no language
    many = config({"learning_rate": 0.02}, steps=3, updates_per_batch=2, stop_unheard=False)
    many = replace(many, remedy=RemedyConfig("many", MANY))
    plain = rows_of(run_here(tmp_path / "plain", replace(many, remedy=RemedyConfig())))
    whole = rows_of(run_here(tmp_path / "whole", many))
    cut = make_run(tmp_path / "cut", many)
    assert go_on(cut, stop_after=1)[0] == 75
    assert go_on(cut)[0] == 0
    assert rows_of(cut) == whole
    assert [row["entropy_coef"] for row in whole] == [0, 0.001, 0.002]
    assert 0.5 <= whole[0]["remedy/acted"] <= 1 == whole[2]["remedy/acted"]
    assert whole[0]["groups/drawn"] >= 2
    assert whole[0]["entropy"] == pytest.approx(plain[0]["entropy"], rel=0.2)
    assert whole[2]["entropy"] != plain[2]["entropy"]
    assert plain[2]["remedy/acted"] is None


ENDS = ("start", "end")
NEWER: dict[str, dict[str, Any]] = {
    "dppo": {"low": 0.01, "high": 0.01},
    "repo_r": {"zeta": 0.05, "most": 1.0},
    "repo_d": {"zeta": 1.0},
    "clip_b": {"mu": 1.0},
    "clip_v": {"mu": 1.0, "share": 0.1},
    "hicra": {},
    "era": {"low": 1.0, "high": 1.0},
    "turn_band": {"low": 1.0, "high": 1.0},
    "snr_filter": {"share": 0.4},
}
ALONE: dict[str, dict[str, Any]] = {
    "adapo": {"clip_high": 0.01, "least": 0.01},
    "entrocraft": {f"{bound}_{end}": 20.0 for bound in ("lower", "upper") for end in ENDS},
}
"""Not beside the others: a second shape of the ratio, and one that leaves half the tokens out."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["many", *NEWER, *ALONE])
def test_newer_remedies_act_on_a_language_model_and_are_resumed_byte_for_byte(
    tmp_path: Path, name: str
) -> None:
    """All at once, and each alone."""
    methods = NEWER if name == "many" else {name: (NEWER | ALONE)[name]}
    steps = 3 if name == "many" else 2
    newer = config({"learning_rate": 0.005}, steps=steps, updates_per_batch=2, stop_unheard=False)
    newer = replace(newer, remedy=RemedyConfig(name, methods))
    whole = rows_of(run_here(tmp_path / "whole", newer))
    assert any(row["remedy/acted"] > 0 for row in whole)  # the last may have no signal
    if name == "many":
        cut = make_run(tmp_path / "cut", newer)
        assert go_on(cut, stop_after=1)[0] == 75
        assert go_on(cut)[0] == 0
        assert rows_of(cut) == whole


@pytest.mark.slow
def test_kl_cov_at_the_first_update_is_plain_grpo_and_then_is_not(tmp_path: Path) -> None:
    """The same first pass, the same tokens drawn at step 2 only if the second changed nothing."""
    base = config({"learning_rate": 0.02}, steps=2, updates_per_batch=2)
    kl_cov = RemedyConfig("kl_cov", {"kl_cov": {"share": 0.5}})
    plain, treated = (
        rows_of(run_here(tmp_path / remedy.name, replace(base, remedy=remedy)))
        for remedy in (RemedyConfig(), kl_cov)
    )
    assert treated[0]["remedy/acted"] > 0.2
    assert treated[0]["entropy"] == plain[0]["entropy"]
    assert treated[1]["entropy"] != plain[1]["entropy"]
