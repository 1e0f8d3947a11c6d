"""Critique-GRPO of language models: what is read, what is scored, what is learnt from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from harness.config.run import RemedyConfig
from harness.train.engines.scoring import log_distribution, own_logits
from harness.train.loop import language_refinement
from harness.train.loop import start as starts
from harness.train.loop.language_batch import TokenBatch, loss_settings
from harness.train.loop.language_refinement import RefinedTokens
from harness.train.metrics.entropy_splits import PlanningTokens
from harness.train.objective import remedy_state
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.objective.loss_batch import LossBatch
from harness.train.objective.own_tokens import own_log_probabilities
from harness.train.ranks.team import Team
from harness.train.ranks.work import (
    RankWork,
    RefinementRequest,
    RolloutRequest,
    SampledConversations,
)
from harness.train.rollout import critiques, curriculum
from harness.train.rollout.conversation import Conversation
from tests.train.critiqued import GROUPS, KINDS, NO_BONUS, SIZE, Recording, config


@pytest.fixture(scope="module")
def models() -> starts.StartModels:
    torch.manual_seed(0)
    return starts.load(config(), "cpu")


def team_of(models: starts.StartModels, critique: str = "reason", prompted: bool = False) -> Team:
    engine = Recording(models.learner, prompted)
    return Team(RankWork(config(critique), models.learner, models.judge, models.chat, engine))


@pytest.fixture(scope="module")
def drawn(models: starts.StartModels) -> SampledConversations:
    given = config()
    asked = RolloutRequest(curriculum.begin(given, None), 1, 0, tuple(range(GROUPS)), range(GROUPS))
    return team_of(models).own.draw(asked)


def refined(
    models: starts.StartModels,
    drawn: SampledConversations,
    critique: str = "reason",
    prompted: bool = False,
    remedy: RemedyConfig | None = None,
) -> tuple[RefinedTokens, Any]:
    team = team_of(models, critique, prompted)
    given = replace(config(critique), remedy=remedy or RemedyConfig())
    stack = remedy_state.begin(given, None)
    made = language_refinement.refine(stack, team, drawn.conversations, drawn.trajectories, 1)
    return made, team.own.engine


def changed(made: RefinedTokens) -> list[int]:
    assert made.unrefined is not None
    assert made.refined_from is not None
    return sorted(made.unrefined.replaced)


@pytest.mark.parametrize("critique", KINDS)
def test_what_is_learnt_from_is_the_conversation_as_if_nothing_had_been_told(
    models: starts.StartModels, drawn: SampledConversations, critique: str
) -> None:
    made, _ = refined(models, drawn, critique)
    assert changed(made)
    chat = models.chat
    for n in range(SIZE * GROUPS):
        one, row = made.conversations[n], made.trajectories[n].row
        ids = chat.opening(one.opening.text)
        for number, exchange in enumerate(one.exchanges, start=1):
            own = [i for i, turn in zip(row.ids, row.turn, strict=True) if turn == number]
            assert chat.text(own) == exchange.reply.text
            ids += own if own[-1] == chat.end else [*own, chat.end]
            ids += chat.following(exchange.answer.text)
        assert ids[: len(row.ids)] == row.ids
    for n in changed(made):
        assert made.refined_from is not None
        cut = int(made.refined_from[n]) - 1
        old, new = drawn.conversations[n], made.conversations[n]
        assert new.exchanges[:cut] == old.exchanges[:cut]
        assert new.key == replace(old.key, sample=old.key.sample + SIZE)
        before = drawn.trajectories[n].row.turn.index(cut + 1)
        assert made.trajectories[n].row.ids[:before] == drawn.trajectories[n].row.ids[:before]
    kept = [n for n in range(SIZE * GROUPS) if n not in changed(made)]
    assert all(made.trajectories[n] is drawn.trajectories[n] for n in kept)


@pytest.mark.parametrize("critique", KINDS)
def test_remedies_choose_by_log_probabilities_without_the_critique(
    models: starts.StartModels, drawn: SampledConversations, critique: str
) -> None:
    made, _ = refined(models, drawn, critique, remedy=NO_BONUS)
    rows = [t.row for t in made.trajectories]
    own = [[turn > 0 for turn in row.turn] for row in rows]
    scored = own_log_probabilities(models.learner, [row.ids for row in rows], own, 1.0)
    for trajectory, logp in zip(made.trajectories, scored, strict=True):
        np.testing.assert_allclose(trajectory.logp, logp.numpy(), atol=1e-5)
        # the start model is the same weights, and reads no critique either
        np.testing.assert_allclose(trajectory.start_logp, logp.numpy(), atol=1e-4)


def test_without_remedies_only_the_reply_after_the_critique_keeps_its_own_numbers(
    models: starts.StartModels, drawn: SampledConversations
) -> None:
    """Nothing reads these, so nothing is computed for them; the first update measures the rest."""
    told, untold = (refined(models, drawn, remedy=remedy)[0] for remedy in (None, NO_BONUS))
    for n in changed(told):
        assert told.refined_from is not None
        turns = np.array([turn for turn in told.trajectories[n].row.turn if turn])
        apart = np.abs(np.subtract(told.trajectories[n].logp, untold.trajectories[n].logp))
        assert apart[turns != told.refined_from[n]].max(initial=0) < 1e-5
        assert apart[turns == told.refined_from[n]].max() > 1e-3


@pytest.mark.parametrize("prompted", [False, True])
@pytest.mark.parametrize("critique", ["score", "reaction", "reason"])
def test_one_reply_reads_the_critique_and_no_later_one_does(
    models: starts.StartModels, drawn: SampledConversations, critique: str, prompted: bool
) -> None:
    made, engine = refined(models, drawn, critique, prompted)
    text = [[models.chat.tokenizer.decode(ids) for ids in some] for some in engine.read]
    note = "(You have replied to this before:"
    assert len(text) > 1
    assert all(words.count(note) == 1 for words in text[0])
    assert not any(note in words for some in text[1:] for words in some)
    for words, n in zip(text[0], changed(made), strict=True):
        assert made.refined_from is not None
        cut = int(made.refined_from[n]) - 1
        assert drawn.conversations[n].exchanges[cut].reply.text in words
    if not prompted:  # the second turn reads on from where the critique began
        whole = {n: made.trajectories[n].row.ids for n in changed(made)}
        rests = [
            row[
                next(
                    n for n, pair in enumerate(zip(first, row, strict=False)) if len(set(pair)) > 1
                ) :
            ]
            for first, row in zip(engine.read[0], whole.values(), strict=True)
        ]
        assert all(any(ids == rest[: len(ids)] for rest in rests) for ids in engine.read[1])


def test_the_control_is_told_nothing(
    models: starts.StartModels, drawn: SampledConversations
) -> None:
    made, engine = refined(models, drawn, "none")
    answers = []
    for ids, n in zip(engine.read[0], changed(made), strict=True):
        assert made.refined_from is not None
        reply = int(made.refined_from[n])
        first = made.trajectories[n].row.turn.index(reply)
        assert ids == made.trajectories[n].row.ids[:first]
        answers.append(
            models.chat.following(made.conversations[n].exchanges[reply - 1].answer.text)
        )
    assert all(ids in answers for ids in engine.read[1]), "nothing is read again"


def test_parts_of_what_is_spoken_again_are_the_same_on_any_rank(
    models: starts.StartModels, drawn: SampledConversations
) -> None:
    """What a conversation becomes does not depend on which others are spoken again beside it."""
    asked: list[RefinementRequest] = []

    class Kept(Team):
        def redraw(self, some: RefinementRequest) -> SampledConversations:
            asked.append(some)
            return super().redraw(some)

    team, stack = Kept(team_of(models).own), remedy_state.begin(config(), None)
    language_refinement.refine(stack, team, drawn.conversations, drawn.trajectories, 1)
    whole = team.own.redraw(asked[0])
    count = len(asked[0].keys)
    parts = [team.own.redraw(asked[0].some(range(n, n + 1))) for n in range(count)]
    for n, part in enumerate(parts):
        assert part.conversations[0].key == whole.conversations[n].key
        assert part.trajectories[0].row == whole.trajectories[n].row


def test_a_batch_of_which_nothing_fell_stays_as_it_is(
    models: starts.StartModels, drawn: SampledConversations
) -> None:
    def risen(one: Conversation) -> Conversation:
        return replace(
            one,
            exchanges=tuple(replace(e, answer=replace(e.answer, change=5)) for e in one.exchanges),
        )

    still = SampledConversations([risen(c) for c in drawn.conversations], drawn.trajectories)
    made, engine = refined(models, still)
    assert made.conversations == still.conversations
    assert made.unrefined is None
    assert made.metrics == {
        "refined/groups": 0.0,
        "refined/replies": 0.0,
        "refined/gain": None,
        "refined/failed": 0.0,
    }
    assert engine.read == []


def test_the_gradient_is_that_of_autograd(
    models: starts.StartModels, drawn: SampledConversations
) -> None:
    """-r A of what was said untold, -A p / (p + .1) of the rest, over a constant; to 1e-6."""
    made, _ = refined(models, drawn)
    given, model, rows = config(), models.learner, [t.row for t in made.trajectories]
    stack = remedy_state.begin(given, None)
    rng = np.random.default_rng(3)
    advantages = rng.normal(size=(len(rows), 10))
    known, none = np.ones(len(rows), bool), np.zeros(len(rows), bool)
    tokens = TokenBatch(made.trajectories, advantages, none, GROUPS, known, None, made.refined_from)
    settings = loss_settings(stack, tokens, given, 1, models, PlanningTokens(models.chat))
    ids, own = [row.ids for row in rows], [[turn > 0 for turn in row.turn] for row in rows]
    spread = [[a[t - 1] for t in row.turn if t] for a, row in zip(advantages, rows, strict=True)]
    accumulate_gradient(model, LossBatch(ids, own, spread, None), settings)
    ours = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    loss = torch.zeros((), dtype=torch.float64)
    assert made.refined_from is not None
    for n, row in enumerate(rows):
        x, mine = torch.tensor([row.ids]), torch.tensor([own[n]])
        drawn_ids = x[mine]
        log_p = log_distribution(own_logits(model, x, mine), 1.0)
        logp = log_p.gather(-1, drawn_ids[:, None])[:, 0].double()
        again = torch.tensor([turn >= made.refined_from[n] for turn in row.turn if turn])
        p, advantage = logp.exp(), torch.tensor(spread[n])
        gain = torch.where(again, p / (p + 0.1), (logp - logp.detach()).exp())
        loss = loss - (advantage * gain).sum()
    torch.autograd.backward(loss / settings.denominator)
    for mine, parameter in zip(ours, model.parameters(), strict=True):
        torch.testing.assert_close(mine, parameter.grad, atol=1e-6, rtol=1e-4)
    model.zero_grad(set_to_none=True)


def test_notes_of_each_kind(drawn: SampledConversations) -> None:
    one, played = drawn.conversations[0], ("question", "suggest", "question")
    reply = one.exchanges[0].reply.text

    def told(critique: str) -> str:
        return critiques.critique_text(critique, one, 0, played, in_english=True)

    head = f'\n\n(You have replied to this before: "{reply}" '
    assert told("none") == ""
    assert told("score") == f"{head}It lowered their mood more than anything else you said.)"
    answer = critiques.first_sentence(one.exchanges[0].answer.text)
    assert told("reaction") == f'{head}They answered: "{answer}")'
    assert told("reason").startswith(head)
    assert critiques.first_sentence("No, not that. It is late.") == "No, not that."
    assert critiques.first_sentence("... I do not know. It is late.") == "... I do not know."
    assert critiques.first_sentence("...") == "..."
    assert critiques.first_sentence("") == ""
