"""The scripted user: in process, deterministic, microseconds a turn, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.config import DifficultyConfig
from harness.simulator import appraisal, disclosure, dynamics, voice
from harness.simulator.appraisal import Appraisal
from harness.simulator.draws import normal, pick, uniforms
from harness.simulator.people import EVERYONE, PEOPLE
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.reading import read
from harness.simulator.state import State, User
from harness.simulator.trust import next_trust

_INDEX = {person.name: number for number, person in enumerate(EVERYONE)}


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

    def _open(self, key: ConversationKey) -> UserTurn:
        u = uniforms("user", key.seed, key.split, key.step, key.group)
        person = pick(PEOPLE[key.split], u[0])
        user = User(
            _INDEX[person.name],
            pick(tuple(self.difficulty.intentions), u[1]),
            pick(tuple(self.difficulty.temperaments), u[2]),
        )
        start = self.difficulty.start_emotion
        told, text = disclosure.opening(user, start, self._shown, u[3:])
        state = State(key, user, start, float(start), told)
        return UserTurn(text, start, None, float(start), None, (), False, {}, state)

    def _answer(self, turn: UserTurn, reply: SupporterReply) -> UserTurn:
        if turn.ended is not None:
            raise ValueError(
                f"the conversation has ended ({turn.ended}): there is nothing to answer"
            )
        before: State = turn.state
        key = before.key
        u = uniforms(key.seed, key.split, key.step, key.group, key.sample, before.turn + 1)
        reading = read(reply.text)
        nll = reply.start_nll
        puzzled = reading.fault is not None or (nll is not None and nll > appraisal.START_NLL_LIMIT)
        parts = appraisal.appraise(reading, reply.cut, puzzled, before, self._rule)
        x = self._logit(parts, before)
        change = self._change(x, parts, before, u)
        after = self._move(before, change, u)
        ended = self._ended(after)
        if ended == "left":
            after = replace(after, emotion=0, reported=0.0)
        kinds = () if puzzled else reading.strategies
        after = replace(
            after,
            trust=next_trust(before.trust, kinds, reading.hurts or puzzled, self._shown, u[4]),
            heard=(*before.heard, frozenset(kinds)),
            sentences=before.sentences | reading.sentences,
        )
        told, text = before.told, ""
        if ended is None:
            first = (
                pick(voice.PUZZLED, u[5])
                if puzzled
                else voice.reaction(
                    change, after.user.persona.voice, u[6] < self._shown.expression, u[5]
                )
            )
            told, lines = disclosure.go_on(after, self._shown, u[7:])
            text = f"{first} {lines}"
        return UserTurn(
            text=text,
            emotion=after.emotion,
            change=change,
            reported_emotion=min(100.0, max(0.0, after.reported)),
            ended=ended,
            strategies=kinds,
            flagged=puzzled,
            why=_why(parts, x, reading.fault),
            state=replace(after, told=told),
        )

    def _logit(self, parts: Appraisal, state: State) -> float:
        offset = (
            dynamics.INTENTION_OFFSET[state.user.intention]
            + dynamics.TEMPERAMENT_OFFSET[state.user.temperament]
        )
        return dynamics.logit(
            parts.worth,
            parts.extra,
            offset,
            state.emotion,
            state.momentum,
            self.difficulty.threshold,
        )

    def _change(self, x: float, parts: Appraisal, state: State, u: Sequence[float]) -> int:
        rises = u[0] < dynamics.rise_probability(x)
        large = u[1] < dynamics.large_probability(rises, parts.worth, state.emotion)
        size = dynamics.change_size(large, self.difficulty)
        after = min(100, max(0, state.emotion + (size if rises else -size)))
        return after - state.emotion

    def _move(self, state: State, change: int, u: Sequence[float]) -> State:
        """Own emotion by the change, reported emotion by the change as reported."""
        sign = -1 if u[2] < self.difficulty.reward_flips else 1
        reported: float = state.reported + sign * change
        if self.difficulty.reward_noise:
            reported += self.difficulty.reward_noise * normal(u[2 + 1], u[15])
        return replace(
            state,
            emotion=state.emotion + change,
            reported=reported,
            momentum=(change > 0) - (change < 0) or state.momentum,
            turn=state.turn + 1,
        )

    def _ended(self, state: State) -> str | None:
        if state.emotion >= 100:
            return "success"
        if state.emotion < self.difficulty.stop_below:
            return "left"
        return "cap" if state.turn >= self.difficulty.turn_cap else None


def _why(parts: Appraisal, x: float, fault: str | None) -> dict[str, float | str]:
    why: dict[str, float | str] = {
        "worth": parts.worth,
        "pick_up": parts.pick_up,
        "confusion": parts.confusion,
        "repetition": parts.repetition,
        "fatigue": parts.fatigue,
        "form": parts.form,
        "hurt": parts.hurt,
        "puzzled": parts.puzzled,
        "logit": x,
    }
    if fault:
        why["fault"] = fault
    return why
