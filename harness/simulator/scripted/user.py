"""The scripted user: in process, deterministic, microseconds a turn, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.config.run import DifficultyConfig
from harness.simulator import rules
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted import appraisal, disclosure, dynamics, voice
from harness.simulator.scripted.appraisal import Appraisal
from harness.simulator.scripted.reading import Reading, read
from harness.simulator.scripted.trust import next_trust
from harness.simulator.state import State, Told


@dataclass(frozen=True, slots=True)
class _Got:
    """A reply as one user takes it."""

    reading: Reading
    puzzle: str | None
    """Why it is not language to them."""
    parts: Appraisal
    logit: float

    @property
    def strategies(self) -> tuple[str, ...]:
        return self.reading.strategies if self.puzzle is None else ()

    @property
    def kinds(self) -> frozenset[str]:
        return self.reading.kinds if self.puzzle is None else frozenset()

    def why(self) -> dict[str, float | str]:
        why: dict[str, float | str] = {**self.parts.as_dict(), "logit": self.logit}
        if self.puzzle is not None:
            why["puzzle"] = self.puzzle
        return why


class ScriptedSimulator:
    """Users of one difficulty, appraising the text of each reply."""

    def __init__(self, difficulty: DifficultyConfig) -> None:
        self.difficulty = difficulty
        self._rule = dynamics.ACCEPTANCES[difficulty.acceptance]
        self._shown = dynamics.DISCLOSURES[difficulty.disclosure]

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """The opening of each conversation; the keys of one group give the same."""
        return [self._open(key) for key in keys]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """The user's answer to each reply. Raises ValueError for a conversation that has ended."""
        return [self._answer(t, r) for t, r in zip(turns, replies, strict=True)]

    def rise_probability(self, state: State, reply: SupporterReply) -> float:
        """P(the emotion rises) if the user of `state` gets `reply`, exactly."""
        return dynamics.rise_probability(self._appraise(state, reply).logit)

    def _open(self, key: ConversationKey) -> UserTurn:
        user, u = rules.who(key, self.difficulty)
        start = self.difficulty.start_emotion
        told, text = disclosure.opening(user, start, self._shown, u)
        state = State(key, user, start, float(start), told)
        return UserTurn(text, start, None, float(start), None, (), False, {}, state)

    def _answer(self, turn: UserTurn, reply: SupporterReply) -> UserTurn:
        if turn.ended is not None:
            raise ValueError(f"a conversation that has ended ({turn.ended}) can not be answered")
        state: State = turn.state
        u = rules.turn_draws(state.key, state.turn + 1)
        got = self._appraise(state, reply)
        rises = u[0] < dynamics.rise_probability(got.logit)
        change = self._change(rises, u[1] < dynamics.large_probability(
            rises, got.parts.worth, state.emotion), state.emotion)  # fmt: skip
        after = self._after(state, change, rises, got, u)
        ended = rules.ending(after.emotion, after.turn, self.difficulty)
        told, text = state.told, self._reaction(after, change, got, u)
        if ended is None:
            told, more = disclosure.go_on(after, self._shown, u[7:])
        else:
            more = voice.farewell(ended, got.reading.hurts, state.user)
        said = more if ended == "success" else f"{text} {more}"
        text = voice.manner(said, state.user.persona.voice)
        return _turn(text, after, told, change, ended, got)

    def _reaction(self, after: State, change: int, got: _Got, u: Sequence[float]) -> str:
        """The first sentence of an answer: how the reply was taken, if that shows."""
        if got.puzzle is not None:
            return voice.puzzled(u[5])
        last = got.strategies[-1] if got.strategies else None
        shows = u[6] < self._shown.expression
        return voice.reaction(change, last, got.reading.hurts, shows, after.user, u[5])

    def _appraise(self, state: State, reply: SupporterReply) -> _Got:
        reading = read(reply.text)
        puzzle = appraisal.puzzle(reading, reply.start_nll)
        parts = appraisal.appraise(reading, reply.cut, puzzle is not None, state, self._rule)
        user = state.user
        offset = dynamics.INTENTION_OFFSET[user.intention]
        offset += dynamics.TEMPERAMENT_OFFSET[user.temperament] - self.difficulty.threshold
        x = dynamics.logit(parts.worth, parts.extra, offset, state.emotion, state.momentum)
        return _Got(reading, puzzle, parts, x)

    def _change(self, rises: bool, large: bool, emotion: int) -> int:
        size = dynamics.change_size(large, self.difficulty)
        return min(100, max(0, emotion + (size if rises else -size))) - emotion

    def _after(
        self,
        state: State,
        change: int,
        rises: bool,
        got: _Got,
        u: Sequence[float],
    ) -> State:
        """The user once the reply has sunk in, before they speak."""
        offended = got.reading.hurts or got.puzzle is not None
        return State(
            key=state.key,
            user=state.user,
            emotion=state.emotion + change,
            reported=state.reported + rules.reported_change(change, self.difficulty, u),
            told=state.told,
            turn=state.turn + 1,
            trust=next_trust(state.trust, got.strategies, offended, self._shown, u[4]),
            momentum=1 if rises else -1,
            heard=(*state.heard, got.kinds),
            sentences=(*state.sentences, *got.reading.sentences),
        )


def _turn(
    text: str,
    after: State,
    told: Told,
    change: int,
    ended: str | None,
    got: _Got,
) -> UserTurn:
    """What the policy and the trainer get."""
    emotion, reported = rules.shown(after.emotion, after.reported, ended)
    return UserTurn(
        text=text,
        emotion=emotion,
        change=change,
        reported_emotion=reported,
        ended=ended,
        strategies=got.strategies,
        flagged=got.puzzle is not None,
        why=got.why(),
        state=after.with_told(told),
    )
