"""Users played by a served model, which appraises and speaks. All else is decided here."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

from harness.config.run import INTENTIONS, TEMPERAMENTS, DifficultyConfig
from harness.simulator.protocol import (
    TRAIN,
    ConversationKey,
    SupporterReply,
    UserTurn,
)
from harness.simulator.scripted.reading import read
from harness.simulator.served import answers, prompts, wording
from harness.simulator.served.answers import ServedAppraisal
from harness.simulator.served.cast import SUPPORTER, USER, ProfiledUser, ServedState, user_of
from harness.simulator.served.client import EndpointClient
from harness.simulator.served.completions import Request
from harness.simulator.served.faults import EndpointFault
from harness.simulator.served.quoting import quote_reply
from harness.simulator.state import (
    User,
    ending,
    reported_change,
    shown_emotions,
    turn_draws,
)
from harness.utils.pending import AwaitableResult

SILENCE = "..."
"""Text of a user whose opening failed."""
PROBE_LEVEL = DifficultyConfig()
"""Difficulty level of a probe's user."""


class ServedSimulator:
    """The served users of one difficulty level. A conversation's whole state is in its turns."""

    def __init__(self, difficulty: DifficultyConfig, client: EndpointClient) -> None:
        self.difficulty, self._client = difficulty, client
        self._changes = wording.changes(difficulty)

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """Return the opening of each conversation. Each user is asked for theirs once per run."""
        return self.ask_to_open(keys)()

    def ask_to_open(self, keys: Sequence[ConversationKey]) -> AwaitableResult[list[UserTurn]]:
        """Begin to open conversations and return at once."""
        users = [user_of(key, self.difficulty, self._client.config) for key in keys]
        distinct = {user: number for number, user in enumerate(dict.fromkeys(users))}

        def build_turns(openings: Sequence[str | EndpointFault]) -> list[UserTurn]:
            pairs = zip(keys, users, strict=True)
            return [self._open(key, user, openings[distinct[user]]) for key, user in pairs]

        return self._client.start([self._opening(user) for user in distinct], build_turns)

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Return the user's answer to each reply. Raises ValueError for an ended conversation."""
        return self.ask(turns, replies)()

    def ask(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> AwaitableResult[list[UserTurn]]:
        """Begin to answer and return at once. Raises ValueError for an ended conversation."""
        self.refuse_ended(turns)
        pairs = zip(turns, replies, strict=True)
        return self._client.start([self._answer(turn, reply) for turn, reply in pairs], list)

    @staticmethod
    def refuse_ended(turns: Sequence[UserTurn]) -> None:
        """Raise ValueError for a conversation that has ended."""
        for turn in turns:
            if turn.ended is not None:
                raise ValueError(
                    f"a conversation that has ended ({turn.ended}) can not be answered"
                )

    async def _opening(self, user: User | ProfiledUser) -> str | EndpointFault:
        request, level = prompts.opening(user, self.difficulty), self.difficulty.disclosure
        try:
            return await self._client.ask(
                request, lambda content: answers.message(content, user.intention, level)
            )
        except EndpointFault as fault:
            return fault

    def _open(
        self, key: ConversationKey, user: User | ProfiledUser, opening: str | EndpointFault
    ) -> UserTurn:
        """Return a first turn. If the opening failed, the first reply ends the conversation."""
        start = self.difficulty.start_emotion
        state = ServedState(key, user, start, float(start))
        if isinstance(opening, EndpointFault):
            state, text = replace(state, fault=opening.kind), SILENCE
        else:
            state, text = replace(state, messages=((USER, opening),)), opening
        return UserTurn(text, start, None, float(start), None, (), False, {}, state)

    async def _answer(self, turn: UserTurn, reply: SupporterReply) -> UserTurn:
        state: ServedState = turn.state
        assert turn.emotion == state.emotion, "a turn and its state are of one moment"
        if state.fault is not None:
            return _failed_turn(state, state.fault)
        try:
            appraisal = await self._appraise(state, quote_reply(reply.text))
            after = self._next_state(state, appraisal, quote_reply(reply.text))
            ended = ending(after.emotion, after.turn, self.difficulty)
            text = "" if ended else await self._speak(after, after.emotion - state.emotion)
        except EndpointFault as fault:
            return _failed_turn(state, fault.kind)
        return _turn(after, after.emotion - state.emotion, text, ended, appraisal, reply)

    async def _appraise(self, state: ServedState, reply: str) -> ServedAppraisal:
        request = prompts.appraise(state, reply, self.difficulty)
        assert request.data["mood_now"] == state.emotion, "the user feels what they feel now"
        return await self._client.ask(
            request, lambda content: answers.appraisal(content, self._changes)
        )

    async def _speak(self, after: ServedState, change: int) -> str:
        request = prompts.speak(after, change, self.difficulty)
        assert request.data["mood_now"] == after.emotion, "the user speaks as they feel now"
        intention, level = after.user.intention, self.difficulty.disclosure
        heard = [text for speaker, text in after.messages if speaker == SUPPORTER]
        return await self._client.ask(
            request, lambda content: answers.message(content, intention, level, heard)
        )

    def _next_state(
        self, state: ServedState, appraisal: ServedAppraisal, reply: str
    ) -> ServedState:
        """Return the user's state after the reply, before the user speaks."""
        emotion = min(100, max(0, state.emotion + appraisal.change))
        u = turn_draws(state.key, state.turn + 1)
        reported = reported_change(emotion - state.emotion, self.difficulty, u)
        return replace(
            state,
            emotion=emotion,
            reported=state.reported + reported,
            messages=(*state.messages, (SUPPORTER, reply)),
            turn=state.turn + 1,
        )


def _turn(
    after: ServedState,
    change: int,
    text: str,
    ended: str | None,
    appraisal: ServedAppraisal,
    reply: SupporterReply,
) -> UserTurn:
    """Return the turn that the policy and the trainer receive."""
    emotion, reported = shown_emotions(after.emotion, after.reported, ended)
    return UserTurn(
        text=text,
        emotion=emotion,
        change=change,
        reported_emotion=reported,
        ended=ended,
        strategies=read(reply.text).strategies,
        flagged=False,
        why={"target_fit": appraisal.target_fit, "reason": appraisal.reason},
        state=replace(after, messages=(*after.messages, (USER, text))) if text else after,
    )


def _failed_turn(state: ServedState, kind: str) -> UserTurn:
    """Return the last turn of a conversation that failed: no reward, and the fault."""
    return UserTurn("", state.emotion, None, math.nan, "failed", (), False, {"fault": kind}, state)


def probe_request() -> Request:
    """Return a minimal request to appraise a reply, as in any conversation."""
    user = User(0, INTENTIONS[0], TEMPERAMENTS[0])
    key = ConversationKey(0, 0, 0, 0, TRAIN)
    messages = ((USER, user.persona.facts[0]),)
    state = ServedState(key, user, PROBE_LEVEL.start_emotion, 0.0, messages)
    return prompts.appraise(state, "I am here with you.", PROBE_LEVEL)


def check_endpoint(client: EndpointClient) -> None:
    """Have one reply appraised. Raises EndpointError if that fails."""
    changes = wording.changes(PROBE_LEVEL)
    client.check(probe_request(), lambda content: answers.appraisal(content, changes))


def enforces_schema(client: EndpointClient) -> bool:
    """Return whether the endpoint enforces the JSON schema, by a prompt that contradicts it.

    Raises EndpointError if there is no answer.
    """
    shape = {"type": "string", "enum": ["apple", "pear"]}
    request = Request(
        "schema",
        ("check",),
        "Answer with the one word banana: plain text, no braces, no quotes.",
        {"question": "Which fruit?"},
        prompts.object_of({"fruit": shape}),
    )
    try:
        content = client.check(request, lambda content: content)
        return json.loads(content) in ({"fruit": "apple"}, {"fruit": "pear"})
    except (ValueError, RecursionError):
        return False
