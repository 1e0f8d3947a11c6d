"""The second scripted user: in process, deterministic, without a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from harness.config.run import DifficultyConfig
from harness.config.simulator import TYPICALITY_CUT
from harness.simulator.draws import normal
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.second import answers, dynamics, voice
from harness.simulator.second.appraisal import SecondAppraisal, appraise
from harness.simulator.second.reading import ParsedReply, read
from harness.simulator.second.state import SecondState
from harness.simulator.state import (
    draw_user,
    ending,
    reported_change,
    shown_emotions,
    turn_draws,
    wording_draws,
)

STEP = 5
"""The difficulty.step_size for which a worth of 1 equals Acceptance.points."""


class SecondSimulator:
    """The second scripted users of one difficulty level."""

    def __init__(
        self, difficulty: DifficultyConfig, typicality_cut: float | None = TYPICALITY_CUT
    ) -> None:
        self.difficulty, self._typicality_cut = difficulty, typicality_cut
        self._acceptance = dynamics.ACCEPTANCES[difficulty.acceptance]
        self._points = self._acceptance.points * difficulty.step_size / STEP

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """Return the opening of each conversation, the same for all keys of a group."""
        return [self._open(key) for key in keys]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Return the user's answer to each reply. Raises ValueError for an ended conversation."""
        return [self._answer(*exchange) for exchange in zip(turns, replies, strict=True)]

    def rise_probability(self, state: SecondState, reply: SupporterReply) -> float:
        """Return the exact probability that `reply` raises the emotion of the user of `state`."""
        _, appraised = self._appraise(state, reply)
        return dynamics.rise_probability(state.emotion, self._expected_mood(state, appraised))

    def rise_probabilities(
        self, states: Sequence[SecondState], replies: Sequence[SupporterReply]
    ) -> list[float]:
        """Return `rise_probability` for each pair of state and reply."""
        return [self.rise_probability(*pair) for pair in zip(states, replies, strict=True)]

    def _open(self, key: ConversationKey) -> UserTurn:
        user, u = draw_user(key, self.difficulty)
        start = self.difficulty.start_emotion
        disclosed, text = voice.opening(user, start, self.difficulty.disclosure, u)
        mood = float(start)
        memory = SecondState(key, user, start, mood, mood, mood, disclosed)
        return UserTurn(text, start, None, float(start), None, (), False, {}, memory)

    def _appraise(
        self, state: SecondState, reply: SupporterReply
    ) -> tuple[str | None, SecondAppraisal]:
        """Return why a reply is not language (None if it is), and its appraisal."""
        parsed = read(reply.text)
        fault = parsed.fault
        surprise, cut = reply.start_z, self._typicality_cut
        if fault is None and surprise is not None and cut is not None and surprise > cut:
            fault = "typicality"
        if fault is not None:
            return fault, SecondAppraisal({"puzzled": -dynamics.PUZZLED}, frozenset(), False)
        return None, appraise(parsed, reply.cut, state.user, state.disclosed, state.past,
                              state.spoken, state.hurt, self._acceptance)  # fmt: skip

    def _expected_mood(self, state: SecondState, appraised: SecondAppraisal) -> float:
        home = dynamics.home(self.difficulty, state.user.temperament)
        return dynamics.mean_mood(state.mood, home, self._points * appraised.worth)

    def _answer(self, turn: UserTurn, reply: SupporterReply) -> UserTurn:
        if turn.ended is not None:
            raise ValueError(f"a conversation that has ended ({turn.ended}) can not be answered")
        state: SecondState = turn.state
        u = turn_draws(state.key, state.turn + 1)
        fault, appraised = self._appraise(state, reply)
        expected = self._expected_mood(state, appraised)
        noise, clamp = normal(u[0], u[1]), self.difficulty.clamp
        mood = dynamics.next_mood(state.mood, expected, noise, clamp)
        emotion = math.floor(mood + 0.5)
        change = emotion - state.emotion
        parsed = read(reply.text)
        after = replace(
            state,
            emotion=emotion,
            mood=mood,
            expected=expected,
            reported=state.reported + reported_change(change, self.difficulty, u),
            turn=state.turn + 1,
            past=(*state.past, appraised.acts),
            spoken=state.spoken | {sentence.plain for sentence in parsed.said},
            hurt=state.hurt or appraised.cruel,
        )
        return self._turn(after, change, parsed, fault, appraised)

    def _turn(
        self,
        after: SecondState,
        change: int,
        parsed: ParsedReply,
        fault: str | None,
        appraised: SecondAppraisal,
    ) -> UserTurn:
        """Return the turn that the policy and the trainer receive."""
        effect = voice.SecondReplyEffect(
            change=change,
            reason=appraised.reason(change > 0) if fault is None else None,
            question=answers.question_of(parsed.said),
            about=parsed.about,
            puzzled=fault is not None,
            closes=fault is not None or appraised.cruel,
        )
        ended = ending(after.emotion, after.turn, self.difficulty)
        w = wording_draws(after.key, after.turn)
        disclosed, text = voice.compose_answer(after.user, after.disclosed, after.emotion, effect,
                                         self.difficulty.disclosure, ended, w)  # fmt: skip
        emotion, reported = shown_emotions(after.emotion, after.reported, ended)
        why: dict[str, float | str] = {
            part: self._points * worth for part, worth in appraised.parts.items()
        }
        if not appraised.cruel:  # below the threshold of cruelty the cost is recorded as doubt
            why["doubt"] = why.pop("hurt", 0.0)
            why["hurt"] = 0.0
        if fault is not None:
            why["rule"] = fault
        return UserTurn(
            text=text,
            emotion=emotion,
            change=change,
            reported_emotion=reported,
            ended=ended,
            strategies=parsed.strategies if fault is None else (),
            flagged=fault is not None,
            why=why,
            state=replace(after, disclosed=disclosed),
        )
