"""Several simulators as one, so that conversations at unlike levels are held in one batch."""

from __future__ import annotations

from collections.abc import Sequence

from harness.simulator.protocol import (
    ConversationKey,
    PendingAnswers,
    SupporterReply,
    UserSimulator,
    UserTurn,
    ask,
)


class SideBySide:
    """Conversation i belongs to simulator `owners[i]`; each turn's state remembers whose it is."""

    def __init__(self, simulators: Sequence[UserSimulator], owners: Sequence[int]) -> None:
        self._simulators, self._owners = simulators, owners

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """One opening for each of `owners`."""
        turns: list[UserTurn | None] = [None] * len(keys)
        for number, simulator in enumerate(self._simulators):
            mine = [i for i, owner in enumerate(self._owners) if owner == number]
            for i, turn in zip(mine, simulator.open([keys[i] for i in mine]), strict=True):
                turns[i] = _marked(number, turn)
        return [turn for turn in turns if turn is not None]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Each reply answered by the simulator that its conversation belongs to."""
        return self.ask(turns, replies)()

    def ask(self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]) -> PendingAnswers:
        """The same, to be waited for: the users of all simulators think at once."""
        asked: list[tuple[list[int], PendingAnswers]] = []
        for number, simulator in enumerate(self._simulators):
            mine = [i for i, turn in enumerate(turns) if turn.state[0] == number]
            plain = [turns[i].with_state(turns[i].state[1]) for i in mine]
            asked.append((mine, ask(simulator, plain, [replies[i] for i in mine])))

        def wait() -> list[UserTurn]:
            answers: list[UserTurn] = list(turns)
            for number, (mine, given) in enumerate(asked):
                for i, turn in zip(mine, given(), strict=True):
                    answers[i] = _marked(number, turn)
            return answers

        return wait


def _marked(number: int, turn: UserTurn) -> UserTurn:
    return turn.with_state((number, turn.state))
