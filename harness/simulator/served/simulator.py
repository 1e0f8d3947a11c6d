"""Users played by a served model: it appraises and speaks, and everything else is decided here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from harness.config.run import DifficultyConfig
from harness.simulator import rules
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted.asking import Answers
from harness.simulator.scripted.reading import read
from harness.simulator.served import answers, prompts, wording
from harness.simulator.served.answers import Appraisal
from harness.simulator.served.cast import Guest, who
from harness.simulator.served.faults import Fault
from harness.simulator.served.line import Line
from harness.simulator.served.quoting import quoted
from harness.simulator.served.talk import SUPPORTER, USER, Talk
from harness.simulator.state import User


class ServedSimulator:
    """Users of one difficulty. A conversation's whole state is in its turns."""

    def __init__(self, difficulty: DifficultyConfig, line: Line) -> None:
        self.difficulty, self._line = difficulty, line
        self._changes = wording.changes(difficulty)

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """The opening of each conversation; each user is asked once, and the same ever after."""
        users = [who(key, self.difficulty, self._line.config) for key in keys]
        distinct = list(dict.fromkeys(users))
        said = self._line.run([self._opening(user) for user in distinct])
        opening = dict(zip(distinct, said, strict=True))
        return [self._open(k, u, opening[u]) for k, u in zip(keys, users, strict=True)]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """The user's answer to each reply. Raises ValueError for a conversation that has ended."""
        return self.ask(turns, replies)()

    def ask(self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]) -> Answers:
        """The same, to be waited for. Raises ValueError."""
        for turn in turns:
            if turn.ended is not None:
                raise ValueError(
                    f"a conversation that has ended ({turn.ended}) can not be answered"
                )
        pairs = zip(turns, replies, strict=True)
        return self._line.start([self._answer(turn, reply) for turn, reply in pairs])

    async def _opening(self, user: User | Guest) -> str | Fault:
        request, level = prompts.opening(user, self.difficulty), self.difficulty.disclosure
        try:
            return await self._line.ask(
                request, lambda content: answers.message(content, user.intention, level)
            )
        except Fault as fault:
            return fault

    def _open(self, key: ConversationKey, user: User | Guest, said: str | Fault) -> UserTurn:
        """A user whose opening failed keeps silent; the first reply then ends the conversation."""
        start = self.difficulty.start_emotion
        talk = Talk(key, user, start, float(start))
        if isinstance(said, Fault):
            talk, text = replace(talk, fault=said.kind), SILENCE
        else:
            talk, text = replace(talk, said=((USER, said),)), said
        return UserTurn(text, start, None, float(start), None, (), False, {}, talk)

    async def _answer(self, turn: UserTurn, reply: SupporterReply) -> UserTurn:
        talk: Talk = turn.state
        assert turn.emotion == talk.emotion, "a turn and its state are of one moment"
        if talk.fault is not None:
            return _failed(talk, talk.fault)
        try:
            felt = await self._appraise(talk, quoted(reply.text))
            after = self._after(talk, felt, quoted(reply.text))
            ended = rules.ending(after.emotion, after.turn, self.difficulty)
            text = "" if ended else await self._speak(after, after.emotion - talk.emotion)
        except Fault as fault:
            return _failed(talk, fault.kind)
        return _turn(after, after.emotion - talk.emotion, text, ended, felt, reply)

    async def _appraise(self, talk: Talk, reply: str) -> Appraisal:
        request = prompts.appraise(talk, reply, self.difficulty)
        assert request.data["mood_now"] == talk.emotion, "the user feels what they feel now"
        return await self._line.ask(
            request, lambda content: answers.appraisal(content, self._changes)
        )

    async def _speak(self, after: Talk, change: int) -> str:
        request = prompts.speak(after, change, self.difficulty)
        assert request.data["mood_now"] == after.emotion, "the user speaks as they feel now"
        intention, level = after.user.intention, self.difficulty.disclosure
        return await self._line.ask(
            request, lambda content: answers.message(content, intention, level)
        )

    def _after(self, talk: Talk, felt: Appraisal, reply: str) -> Talk:
        """The user once the reply has sunk in, before they speak."""
        emotion = min(100, max(0, talk.emotion + felt.change))
        u = rules.turn_draws(talk.key, talk.turn + 1)
        reported = rules.reported_change(emotion - talk.emotion, self.difficulty, u)
        return replace(
            talk,
            emotion=emotion,
            reported=talk.reported + reported,
            said=(*talk.said, (SUPPORTER, reply)),
            turn=talk.turn + 1,
        )


SILENCE = "..."
"""What the policy hears of a user who could not be asked."""


def _turn(
    after: Talk, change: int, text: str, ended: str | None, felt: Appraisal, reply: SupporterReply
) -> UserTurn:
    """What the policy and the trainer get."""
    emotion, reported = rules.shown(after.emotion, after.reported, ended)
    return UserTurn(
        text=text,
        emotion=emotion,
        change=change,
        reported_emotion=reported,
        ended=ended,
        strategies=read(reply.text).strategies,
        flagged=False,
        why={"target_fit": felt.target_fit, "reason": felt.reason},
        state=replace(after, said=(*after.said, (USER, text))) if text else after,
    )


def _failed(talk: Talk, kind: str) -> UserTurn:
    """The end of a conversation whose user could not be asked: no reward, and why."""
    return UserTurn("", talk.emotion, None, math.nan, "failed", (), False, {"fault": kind}, talk)
