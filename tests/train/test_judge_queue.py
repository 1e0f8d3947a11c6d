"""One judge for many waves: the scores of one pass, in passes of those that have ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
import pytest
import torch

from harness.errors import StoppedError
from harness.train.engines.engine import Engine, TransformersEngine
from harness.train.engines.sampler import SampledTurn, Sampler
from harness.train.loop import start
from harness.train.ranks.work import RankWork, RolloutRequest, SampledConversations
from harness.train.rollout import curriculum
from harness.train.rollout.judge_queue import JudgeQueue
from harness.train.rollout.start_judge import JudgedTurn, ReplyScore, StartJudge
from harness.utils.pending import AwaitableResult, Pending, first_ready, ready, then
from tests.train.continuous import ContinuousBatch
from tests.train.made_hugging_face import SMALL, config

END, COUNT, TURNS = 3, 8, 3


@pytest.fixture(scope="module")
def model() -> Any:
    return start.load(config(SMALL), "cpu").learner


class Judge(StartJudge):
    """A judge that notes how many replies each pass scores."""

    def __init__(self, model: Any) -> None:
        super().__init__(model, COUNT, 0.7, END)
        self.passes: list[int] = []

    def judge(self, live: Sequence[int], *words: Any) -> list[ReplyScore]:
        self.passes.append(len(live))
        return super().judge(live, *words)


class TokenEngine:
    """Draws a token of each open turn at each step of the caller's thread, as vLLM does."""

    def __init__(self) -> None:
        self._batch = ContinuousBatch()

    @property
    def steps(self) -> int:
        return len(self._batch.sizes)

    def begin(self, ids: list[int]) -> AwaitableResult[list[SampledTurn]]:
        drawn = self._batch.join(len(ids))

        def wait() -> list[SampledTurn]:
            while not drawn.done():
                self._batch.step()
            return [SampledTurn(ids, [0.0] * len(ids))]

        return AwaitableResult(wait, (drawn,), work=self._batch.step)


def words() -> tuple[list[list[list[int]]], list[list[list[int]]]]:
    """What users and policy say, by turn and conversation; replies differ in length."""
    rng = np.random.default_rng(4)
    heard = [[rng.integers(4, 800, 5).tolist() for _ in range(COUNT)] for _ in range(TURNS)]
    sizes = [[1 + (3 * i + 5 * turn) % COUNT for i in range(COUNT)] for turn in range(TURNS)]
    said = [[[*rng.integers(4, 800, size).tolist(), END] for size in turn] for turn in sizes]
    return heard, said


def each_by_itself(judge: StartJudge, engine: TokenEngine) -> list[list[ReplyScore]]:
    """The scores by turn and conversation; each conversation goes on when its reply is scored."""
    heard, said = words()
    queue = JudgeQueue(judge)
    waves = [queue.of(range(i, i + 1)) for i in range(COUNT)]
    scores: list[list[ReplyScore]] = [[] for _ in range(COUNT)]

    def begun(i: int) -> Pending[list[JudgedTurn]]:
        turn = len(scores[i])
        return waves[i].begin([0], [heard[turn][i]], engine.begin(said[turn][i]))

    waiting = {i: begun(i) for i in range(COUNT)}
    while waiting:
        i = list(waiting)[first_ready(list(waiting.values()))]
        (one,) = waiting.pop(i)()
        assert one.turn.ids == said[len(scores[i])][i]
        scores[i].append(one.score)
        if len(scores[i]) < TURNS:
            waiting[i] = begun(i)
    return [[own[turn] for own in scores] for turn in range(TURNS)]


def test_the_scores_are_those_of_whole_turns(model: Any) -> None:
    heard, said = words()
    whole = Judge(model)
    by_turn = [whole.judge(range(COUNT), *turn) for turn in zip(heard, said, strict=True)]
    mine = each_by_itself(Judge(model), TokenEngine())
    for turn, expected in zip(mine, by_turn, strict=True):
        for score, other in zip(turn, expected, strict=True):
            assert score.logp == pytest.approx(other.logp, abs=1e-5)
            assert (score.nll, score.z) == pytest.approx((other.nll, other.z), abs=1e-4)


def test_replies_wait_for_some_and_not_for_all(model: Any) -> None:
    judge, engine = Judge(model), TokenEngine()
    each_by_itself(judge, engine)
    _, said = words()
    assert sum(judge.passes) == COUNT * TURNS
    assert TURNS < len(judge.passes) <= COUNT * TURNS / 2
    in_step = sum(max(len(ids) for ids in turn) for turn in said)
    assert engine.steps < in_step


def test_a_server_draws_by_itself_so_a_reply_is_scored_as_soon_as_it_is_there(model: Any) -> None:
    heard, said = words()
    judge, late = Judge(model), Event()
    queue = JudgeQueue(judge)
    with ThreadPoolExecutor(2) as pool:

        def begun(i: int) -> Pending[list[JudgedTurn]]:
            def drawn() -> list[SampledTurn]:
                if i == 0:
                    assert late.wait(30)
                return [SampledTurn(said[0][i], [0.0] * len(said[0][i]))]

            future = pool.submit(drawn)
            turns = AwaitableResult(future.result, (future,))
            return queue.of(range(i, i + 1)).begin([0], [heard[0][i]], turns)

        waiting = [begun(0), begun(1)]
        assert first_ready(waiting) == 1
        assert judge.passes == [1]
        late.set()
        assert [turn.turn.ids for one in waiting for turn in one()] == said[0][:2]


def test_turns_that_are_drawn_already_are_scored_at_once(model: Any) -> None:
    heard, said = words()
    turns = [SampledTurn(ids, [0.0] * len(ids)) for ids in said[0]]
    judged = JudgeQueue(Judge(model)).of(range(COUNT)).begin(range(COUNT), heard[0], ready(turns))
    assert not isinstance(judged, AwaitableResult)
    scores = Judge(model).judge(range(COUNT), heard[0], said[0])
    assert [one.score for one in judged()] == scores


def test_a_pass_that_fails_is_the_error_of_each_of_its_turns(model: Any) -> None:
    class Full(Judge):
        def judge(self, live: Sequence[int], *words: Any) -> list[ReplyScore]:
            raise torch.OutOfMemoryError("no room for the pass")

    queue, drawn = JudgeQueue(Full(model)), [Future[list[SampledTurn]]() for _ in range(3)]
    waiting = [
        queue.of(range(i, i + 1)).begin([0], [[4]], AwaitableResult(turns.result, (turns,)))
        for i, turns in enumerate(drawn)
    ]
    for turns in drawn:
        turns.set_result([SampledTurn([4, END], [0.0, 0.0])])
    with pytest.raises(torch.OutOfMemoryError):
        first_ready(waiting)
    for turns_judged in waiting:
        with pytest.raises(torch.OutOfMemoryError, match="no room for the pass"):
            turns_judged()


def test_a_turn_that_fails_ends_the_wait(model: Any) -> None:
    failed: Future[list[SampledTurn]] = Future()
    failed.set_exception(StoppedError("trainer.engine_url: the server went away"))
    turns = AwaitableResult(failed.result, (failed,))
    with pytest.raises(StoppedError, match="went away"):
        JudgeQueue(Judge(model)).of(range(1)).begin([0], [[4]], turns)()


class ContinuousEngine(TokenEngine):
    """Draws for all waves at once; the tokens are those of the transformers engine."""

    corrected, together = False, True

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model

    def awake(self) -> AbstractContextManager[None]:
        return nullcontext()

    def speaking(self) -> AbstractContextManager[None]:
        return nullcontext()

    def sampler(self, count: int, end: int, temperature: float) -> ContinuousSampler:
        return ContinuousSampler(self, Sampler(self._model, count, end, temperature))

    def close(self) -> None: ...


class ContinuousSampler:
    def __init__(self, engine: ContinuousEngine, sampler: Sampler) -> None:
        self._engine, self._sampler = engine, sampler

    def speak(self, *words: Any) -> list[SampledTurn]:
        return self.begin_turn(*words)()

    def begin_turn(self, *words: Any) -> Pending[list[SampledTurn]]:
        turns = self._sampler.speak(*words)
        steps = max(1 + sum(turn.ids) % COUNT for turn in turns)  # all replies here are as long
        return then(self._engine.begin([0] * steps), lambda _: turns)

    def rewind(self, lengths: Mapping[int, int]) -> None:
        self._sampler.rewind(lengths)


def test_a_batch_by_itself_says_what_it_says_in_step_in_less_time_and_few_passes() -> None:
    """Whole conversations with scripted users, each of its own wave, one judge for all."""
    given = config(SMALL)
    models = start.load(given, "cpu")
    passes: list[int] = []
    models.judge.get_decoder().register_forward_hook(lambda *_: passes.append(1))

    def drawn(engine: Engine, waves: int | None) -> tuple[SampledConversations, int]:
        passes.clear()
        asked = replace(given, trainer=replace(given.trainer, waves=waves))
        work = RankWork(asked, models.learner, models.judge, models.chat, engine)
        request = RolloutRequest(curriculum.begin(asked, None), 1, 0, (0, 1), range(2))
        with work.awake():
            return work.draw(request), len(passes)

    engines = [ContinuousEngine(models.learner) for _ in range(2)]
    in_step, _ = drawn(engines[0], 1)
    by_itself, by_itself_passes = drawn(engines[1], None)
    plain, _ = drawn(TransformersEngine(models.learner), None)
    said = [
        [[e.reply.text for e in c.exchanges] for c in batch.conversations]
        for batch in (plain, in_step, by_itself)
    ]
    assert said[0] == said[1] == said[2]
    for one, other in zip(plain.trajectories, by_itself.trajectories, strict=True):
        assert one.start_logp == pytest.approx(other.start_logp, abs=1e-4)
    replies = sum(map(len, said[0]))
    assert replies >= 2 * COUNT
    assert by_itself_passes <= replies / 2
    assert engines[1].steps < 0.9 * engines[0].steps, "no turn waits for the longest of all"
