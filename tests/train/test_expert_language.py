"""Expert iteration in rounds with a language model: its start weights fitted to all it has kept."""

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from harness.config.run import PolicyConfig, RunConfig
from harness.errors import DataError
from harness.records.checkpoints import KEPT
from harness.records.run_folder import RunFolder
from harness.train.engines.engine import TransformersEngine
from harness.train.loop import language_rounds
from harness.train.loop import start as starts
from harness.train.loop.kept_conversations import KeptConversations
from harness.train.loop.language_rounds import KeptTokens
from harness.train.objective import remedy_state
from harness.train.objective.loss_batch import LossBatch, LossSettings
from harness.train.objective.token_selection import TokenSelection
from harness.train.ranks.team import Team
from harness.train.ranks.work import RankWork
from tests.train import made_language_runs as made
from tests.train import made_ranks
from tests.train.made import finish, killed_after, make_run, start, wait_for
from tests.train.made_hugging_face import SMALL

ROUND, PASSES, RATE, STEPS = 2, 3, 1e-3, 4
OPTIONS = {"keep": 0.5, "margin": 0.0, "fit_from": "start", "round_steps": ROUND}
ALGORITHM = {
    "kind": "expert_iteration",
    "group_size": 4,
    "learning_rate": RATE,
    "max_grad_norm": 0.05,
    "options": {**OPTIONS, "fit_passes": PASSES},
}
ADAPTERS = replace(SMALL, lora_rank=2, lora_alpha=4)
NONE = KeptConversations[KeptTokens]()


def rounds(policy: PolicyConfig = made.SMOKE, **trainer: Any) -> RunConfig:
    steps = {"steps": STEPS, "checkpoint_every": 1, "keep_every": 1}
    return replace(made.config(ALGORITHM, **(steps | trainer)), policy=policy)


@pytest.fixture(scope="module", params=["all", "adapters"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """An uninterrupted run of all weights, and one of adapters."""
    policy = made.SMOKE if request.param == "all" else ADAPTERS
    return made.run_here(tmp_path_factory.mktemp("whole") / request.param, rounds(policy))


def weights(run: RunFolder, step: int) -> dict[str, torch.Tensor]:
    return load_file(next((run.checkpoints / f"step-{step:05}").rglob("*.safetensors")))


def adam_of(model: Any, config: RunConfig) -> torch.optim.AdamW:
    """The optimiser of the trainable weights that TRL's arguments ask for."""
    algorithm = config.algorithm
    return torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad],
        lr=algorithm.learning_rate,
        betas=(algorithm.adam_beta1, algorithm.adam_beta2),
        eps=algorithm.adam_epsilon,
        weight_decay=0.0,
    )


def fit_by_hand(model: Any, kept: KeptConversations[KeptTokens], config: RunConfig) -> None:
    """Take PASSES steps of Adam on the mean of -log p over all own tokens of `kept`."""
    adam = adam_of(model, config)
    learning = [p for p in model.parameters() if p.requires_grad]
    for _ in range(PASSES):
        adam.zero_grad()
        total, count = torch.zeros(()), 0
        for c in kept.conversations:
            ids = torch.tensor(c.ids)[None]
            logits = model(ids).logits[0, :-1] / config.policy.temperature
            logp = logits.log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
            own = torch.tensor(c.own)[1:]
            total, count = total - logp[own].sum(), count + int(own.sum())
        torch.autograd.backward(total / count)
        torch.nn.utils.clip_grad_norm_(learning, config.algorithm.max_grad_norm)
        adam.step()
    adam.zero_grad()


@pytest.mark.slow
def test_a_model_only_talks_until_its_round_ends(whole: RunFolder) -> None:
    rows = made.rows_of(whole)
    assert [row["grad_norm"] is not None for row in rows] == [False, True, False, True]
    assert [row["clip_ratio/low_mean"] for row in rows] == [None, 0.0, None, 0.0]
    assert [row["kl"] for row in rows[:ROUND]] == pytest.approx([0, 0], abs=1e-6)
    assert all(abs(row["kl"]) > 1e-5 for row in rows[ROUND:])
    counts = [row["kept/conversations"] for row in rows]
    assert counts == sorted(counts)
    assert 0 < counts[0] <= 4  # at most half of 8
    assert {row["ledger/signal"] for row in rows} == {None}
    first, second, third, last = (weights(whole, step) for step in range(1, STEPS + 1))
    moved = [name for name in second if not torch.equal(first[name], second[name])]
    assert moved
    assert all(torch.equal(second[name], third[name]) for name in second)
    assert any(not torch.equal(third[name], last[name]) for name in third)


@pytest.mark.slow
def test_the_weights_are_the_start_s_after_steps_of_adam_on_all_rounds(whole: RunFolder) -> None:
    """By hand, from the conversations that the checkpoint has."""
    policy = ADAPTERS if whole.path.name == "adapters" else made.SMOKE
    config = rounds(policy)
    kept = language_rounds.load(whole.checkpoints / f"step-{STEPS:05}")
    assert len(kept.conversations) == made.rows_of(whole)[-1]["kept/conversations"]
    model = starts.load(config, "cpu").learner.eval()
    fit_by_hand(model, kept, config)
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    saved = weights(whole, STEPS)
    for name, by_hand in named.items():
        name = name if name in saved else name.replace(".default", "")
        if name in saved:  # a tied head is saved once
            torch.testing.assert_close(saved[name], by_hand.detach(), atol=2e-5, rtol=1e-4)
    assert {n.replace(".default", "") for n in named} & saved.keys()


@pytest.mark.slow
@pytest.mark.parametrize("whole", ["adapters"], indirect=True)
def test_a_killed_run_ends_with_the_rows_and_weights_of_one_that_was_not(
    whole: RunFolder, tmp_path: Path
) -> None:
    killed = killed_after(make_run(tmp_path / "killed", rounds(ADAPTERS)), 3)
    assert finish(killed)[0] == 0
    assert killed.metrics.read_bytes() == whole.metrics.read_bytes()
    ended, other = weights(killed, STEPS), weights(whole, STEPS)
    assert all(torch.equal(ended[name], other[name]) for name in other)


@pytest.mark.slow
def test_two_ranks_end_with_the_weights_of_one(tmp_path: Path) -> None:
    one, two = (
        replace(
            made_ranks.config(ranks, updates_per_batch=1, steps=2),
            algorithm=rounds().algorithm,
            remedy=RunConfig().remedy,
        )
        for ranks in (1, 2)
    )
    alone, both = made_ranks.trained(tmp_path / "1", one), made_ranks.trained(tmp_path / "2", two)
    saved, other = (load_file(made_ranks.weights_of(run)) for run in (alone, both))
    for name, weight in saved.items():
        torch.testing.assert_close(other[name], weight, atol=1e-5, rtol=1e-5)
    norms = [[row["grad_norm"] for row in made_ranks.rows_of(run)] for run in (alone, both)]
    assert norms[0][0] is norms[1][0] is None
    assert math.isclose(norms[0][1], norms[1][1], rel_tol=1e-4)


@pytest.mark.parametrize("policy", [SMALL, ADAPTERS], ids=["all", "adapters"])
def test_a_refit_is_of_the_start_weights_and_of_fresh_moments(policy: PolicyConfig) -> None:
    """By hand, after an update that has moved the weights and left moments."""
    config = rounds(policy)
    model = starts.load(config, "cpu")
    learner, by_hand = model.learner, starts.load(config, "cpu").learner.eval()
    work = RankWork(config, learner, None, model.chat, TransformersEngine(learner))
    fitted = language_rounds.begin(config, learner, None)
    assert fitted is not None
    ids, own = [[5, 6, 7, 8], [9, 10, 11], [5, 7, 9, 6]], [[False, True, True, True]] * 3
    own[1] = [False, False, True]
    advantage = [[1.0] * 3, [0.5], [-1.0] * 3]
    fitted.keep(LossBatch(ids, own, advantage, None))
    assert [c.ids.tolist() for c in fitted.kept.conversations] == ids[:2]
    adam = adam_of(learner, config)
    for parameter in learner.parameters():
        parameter.grad = torch.ones_like(parameter) if parameter.requires_grad else None
    adam.step()
    adam.zero_grad()
    assert [fitted.is_due(step) for step in (1, 2, 3, 4)] == [False, True, False, True]
    stack = remedy_state.begin(config, None)
    none = np.zeros(0, bool)
    settings = LossSettings(stack, TokenSelection(np.zeros(0), none, none, ()), 1.0, 1.0)
    assert len([*fitted.passes(Team(work), adam, settings)]) == PASSES
    fit_by_hand(by_hand, fitted.kept, config)
    for weight, other in zip(learner.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(weight, other, atol=2e-6, rtol=1e-5)


def test_a_rank_beyond_the_kept_conversations_adds_nothing_to_a_refit() -> None:
    """Of two ranks, when one conversation is all that was kept."""
    config = rounds(SMALL)
    model = starts.load(config, "cpu")
    work = RankWork(config, model.learner, None, model.chat, TransformersEngine(model.learner))
    stack = remedy_state.begin(config, None)
    none = np.zeros(0, bool)
    settings = LossSettings(stack, TokenSelection(np.zeros(0), none, none, ()), 1.0, 1.0)
    batch, of_batch = language_rounds.loss_inputs(NONE.with_new([tokens(5, 6, 7, own=1)]), settings)
    assert (batch.places([0]).tolist(), batch.places([]).tolist()) == ([0], [])
    result = work.learn(batch.some([]), of_batch.some(batch.places([])))
    assert (result.value, result.scored) == (0.0, [])
    assert all(parameter.grad is None for parameter in model.learner.parameters())


def tokens(*ids: int, own: int) -> KeptTokens:
    """A conversation whose last `own` tokens are the policy's."""
    mine = np.arange(len(ids)) >= len(ids) - own
    return KeptTokens(np.array(ids, np.int64), mine)


def test_what_was_saved_is_read_and_kept_once(tmp_path: Path) -> None:
    kept = NONE.with_new([tokens(1, 2, 3, own=1), tokens(4, 2, 3, own=1), tokens(1, 2, 3, own=1)])
    assert kept.metrics() == {"kept/conversations": 2.0, "kept/sequences": 1.0}
    language_rounds.save(kept, tmp_path)
    again = language_rounds.load(tmp_path)
    assert again.keys == kept.keys
    assert again.with_new([tokens(1, 2, 3, own=2)]).metrics()["kept/conversations"] == 3
    language_rounds.save(NONE, tmp_path)
    assert language_rounds.load(tmp_path) == NONE


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    def refusal(**arrays: Any) -> str:
        np.savez(tmp_path / KEPT, **arrays)
        with pytest.raises(DataError) as error:
            language_rounds.load(tmp_path)
        return str(error.value).removeprefix(f"{tmp_path / KEPT}: ")

    rows = "ids and own must have a row for each of the tokens of a conversation, got "
    assert refusal(tokens=[2, 1], ids=[1, 2], own=[False, True]) == f"{rows}[2, 2] for [2, 1]"
    assert refusal(tokens=[2, 0], ids=[1, 2], own=[False, True]) == f"{rows}[2, 2] for [2, 0]"
    assert refusal(tokens=[2], ids=[1.0, 2.0], own=[False, True]) == (
        "tokens, ids and own must be 1-D int64, 1-D int64, 1-D bool, got 1-D int64, 1-D float64, "
        "1-D bool"
    )
    assert refusal(tokens=[2], ids=[1, 2]).startswith("must hold the kept conversations, got ")


@pytest.mark.slow
def test_a_stop_amid_the_passes_leaves_the_step_before(tmp_path: Path) -> None:
    config = rounds(ADAPTERS, grace_s=2.0, checkpoint_every=STEPS, keep_every=0)
    options = dict(config.algorithm.options) | {"fit_passes": 10_000}
    endless = replace(config, algorithm=replace(config.algorithm, options=options))
    run = make_run(tmp_path / "r", endless, users=None)
    child = start(run)
    wait_for(child, "step", 1)
    time.sleep(3)
    child.terminate()
    _, err = child.communicate(timeout=60)
    assert child.returncode == 75, err
    assert [path.name for path in run.checkpoints.iterdir()] == ["step-00001"]
    learner = starts.load(config, "cpu").learner
    saved, named = weights(run, 1), dict(learner.named_parameters())
    assert saved
    for name, weight in saved.items():
        assert torch.equal(weight, named[name.replace(".weight", ".default.weight")])
