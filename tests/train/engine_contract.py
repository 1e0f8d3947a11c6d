"""What every engine keeps: subclass it and give the fixture `engine`, which draws with `model`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from harness.train.engines.engine import Engine
from harness.train.engines.sampler import SampledTurn
from harness.train.objective.own_tokens import own_log_probabilities

COUNT, LIMIT, END, TEMPERATURE = 4, 6, 3, 1.3
LATER = 2
"""A token id, with which all users answer."""


def heard() -> list[list[int]]:
    """What the users of all conversations say first, unlike in length."""
    rng = np.random.default_rng(5)
    return [rng.integers(4, 700, size).tolist() for size in (3, 7, 5, 4)]


def uniforms(seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random((COUNT, LIMIT)))


class EngineContract:
    """Turns in conversations of ids of a model with a vocabulary of 700 at least."""

    most_apart_nats = 1e-4

    @pytest.fixture
    def model(self) -> Any:
        """The model that learns, in float32."""
        raise NotImplementedError

    @pytest.fixture
    def engine(self, model: Any) -> Iterator[Engine]:
        raise NotImplementedError

    def change(self, model: Any) -> None:
        """Change what the model learns so much that other weights are told from these."""
        with torch.no_grad():
            for number, weight in enumerate(p for p in model.parameters() if p.requires_grad):
                dice = torch.Generator().manual_seed(number)
                weight += 0.3 * torch.randn(weight.shape, generator=dice)

    def spoken(self, engine: Engine, live: Sequence[int] = range(COUNT)) -> list[list[SampledTurn]]:
        """Two turns of some of the conversations, by turn."""
        sampler = engine.sampler(COUNT, END, TEMPERATURE)
        some = list(live)
        first = sampler.speak(some, [heard()[i] for i in some], uniforms(1)[some])
        return [first, sampler.speak(some, [[LATER]] * len(some), uniforms(2)[some])]

    def apart(self, model: Any, turns: list[list[SampledTurn]]) -> float:
        """Largest distance between the engine's log-probabilities and those of `model`."""
        ids, own, logp = [], [], []
        for i, opening in enumerate(heard()):
            first, second = turns[0][i], turns[1][i]
            closed = [] if first.ids[-1] == END else [END]
            ids.append([*opening, *first.ids, *closed, LATER, *second.ids])
            between = [False] * (len(closed) + 1)
            mine = [[True] * len(turn.ids) for turn in (first, second)]
            own.append([*[False] * len(opening), *mine[0], *between, *mine[1]])
            logp += first.logp + second.logp
        here = torch.cat(own_log_probabilities(model, ids, own, TEMPERATURE))
        return float((here - torch.tensor(logp)).abs().max())

    def test_a_turn_ends_with_the_end_or_at_the_limit(self, engine: Engine) -> None:
        with engine.awake():
            turns = self.spoken(engine)
        for turn in [*turns[0], *turns[1]]:
            assert 1 <= len(turn.ids) == len(turn.logp) <= LIMIT
            assert END not in turn.ids[:-1]
            assert turn.ids[-1] == END or len(turn.ids) == LIMIT
            assert all(value <= 0 for value in turn.logp)

    def test_its_log_probabilities_are_the_models(self, engine: Engine, model: Any) -> None:
        with engine.awake():
            assert self.apart(model, self.spoken(engine)) < self.most_apart_nats

    def test_it_draws_with_the_current_weights(self, engine: Engine, model: Any) -> None:
        with engine.awake():
            before = self.spoken(engine)
        self.change(model)
        assert self.apart(model, before) > 0.1, "the change shows"
        with engine.awake():
            assert self.apart(model, self.spoken(engine)) < self.most_apart_nats

    def test_what_a_conversation_draws_depends_on_its_own_numbers_alone(
        self, engine: Engine
    ) -> None:
        with engine.awake():
            together, again, alone = (
                self.spoken(engine, live) for live in (range(COUNT), range(COUNT), [2])
            )
        assert [[t.ids for t in turn] for turn in together] == [
            [t.ids for t in turn] for turn in again
        ]
        for turn in (0, 1):
            assert alone[turn][0].ids == together[turn][2].ids
        assert len({tuple(turn.ids) for turn in together[0]}) == COUNT

    def test_waves_that_ask_at_once_get_what_each_gets_alone(self, engine: Engine) -> None:
        with engine.awake():
            samplers = [engine.sampler(1, END, TEMPERATURE) for _ in range(COUNT)]
            openings = zip(samplers, heard(), uniforms(1), strict=True)
            firsts = [one.begin_turn([0], [ids], u[None]) for one, ids, u in openings]
            order = [2, 0, 3, 1]  # whoever asks first need not be waited for first
            turns = {i: [firsts[i]()[0]] for i in order}
            again = {i: samplers[i].begin_turn([0], [[LATER]], uniforms(2)[[i]]) for i in order}
            for i in reversed(order):
                turns[i] += again[i]()
            alone = self.spoken(engine)
        for i, (first, second) in turns.items():
            assert [first.ids, second.ids] == [turn[i].ids for turn in alone]
            for one, other in zip((first, second), (turn[i] for turn in alone), strict=True):
                assert one.logp == pytest.approx(other.logp, abs=self.most_apart_nats)

    def test_it_goes_back_to_what_a_conversation_had_heard(self, engine: Engine) -> None:
        """Two conversations draw their first turn again, from a shorter prompt; two go on."""
        every, back, on = list(range(COUNT)), [1, 3], [0, 2]
        with engine.awake():
            sampler = engine.sampler(COUNT, END, TEMPERATURE)
            more = [[*ids, LATER] if i in back else ids for i, ids in enumerate(heard())]
            first = sampler.speak(every, more, uniforms(1))
            sampler.rewind({i: len(heard()[i]) - 1 for i in back})
            new = [heard()[i][-1:] if i in back else [LATER] for i in every]
            second = sampler.speak(every, new, uniforms(2))
            plain = self.spoken(engine)
            others = engine.sampler(COUNT, END, TEMPERATURE).speak(every, heard(), uniforms(2))
        assert [first[i].ids for i in on] == [plain[0][i].ids for i in on]
        assert [second[i].ids for i in on] == [plain[1][i].ids for i in on]
        for i in back:
            assert first[i].ids != plain[0][i].ids, "the longer prompt shows"
            assert second[i].ids == others[i].ids
            assert second[i].logp == pytest.approx(others[i].logp, abs=self.most_apart_nats)
