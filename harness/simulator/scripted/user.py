"""The scripted user: in process, deterministic, microseconds per turn, without a model."""

from __future__ import annotations

from collections.abc import Sequence

from harness.config.run import DifficultyConfig
from harness.config.simulator import TYPICALITY_CUT
from harness.simulator.protocol import HELD_OUT, ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted import appraisal, dynamics, questions, reactions, reasons, voice
from harness.simulator.scripted.appraisal import Appraisal
from harness.simulator.scripted.held_out_cache import HeldOutCache
from harness.simulator.scripted.lines import manner
from harness.simulator.scripted.paths import PUT_TO_THE_TEST
from harness.simulator.scripted.reading import read_all
from harness.simulator.scripted.replies import ReplyReading
from harness.simulator.scripted.sentence_guard import LanguageFault
from harness.simulator.scripted.sentence_reader import LEXICAL, SentenceReader
from harness.simulator.state import (
    Disclosures,
    State,
    draw_user,
    draws_of_turns,
    ending,
    reported_change,
    shown_emotions,
)
from harness.utils.record import record


@record
class _AppraisedReply:
    """A reply as appraised by one user."""

    reading: ReplyReading
    puzzle: LanguageFault | None
    """Why the reply is not language to the user; None if it is."""
    suspicion: float
    """State.suspicion after the reply."""
    appraisal: Appraisal
    logit: float
    """Log-odds that the emotion rises."""
    reluctance: float = 0.0
    """Log-odds lost because the user tests the supporter."""

    @property
    def hurts(self) -> bool:
        """Whether the user hears the reply as hurtful."""
        return self.appraisal.hurt < 0

    @property
    def strategies(self) -> tuple[str, ...]:
        return self.reading.strategies if self.puzzle is None else ()

    @property
    def strategy_set(self) -> frozenset[str]:
        return self.reading.strategy_set if self.puzzle is None else frozenset()

    def why(self) -> dict[str, float | str]:
        why: dict[str, float | str] = self.appraisal.as_dict()
        if self.reluctance:
            why[PUT_TO_THE_TEST] = -self.reluctance
        why["logit"] = self.logit
        if self.puzzle is not None:
            why |= {"puzzle": self.puzzle.sentence, "rule": self.puzzle.rule}
        return why


class ScriptedSimulator:
    """The scripted users of one difficulty level."""

    def __init__(
        self,
        difficulty: DifficultyConfig,
        typicality_cut: float | None = TYPICALITY_CUT,
        reader: SentenceReader = LEXICAL,
    ) -> None:
        self.difficulty, self._typicality_cut = difficulty, typicality_cut
        self.reader = reader
        self._held_out_cache = HeldOutCache()
        self._acceptance = dynamics.ACCEPTANCES[difficulty.acceptance]
        self._disclosure = dynamics.DISCLOSURES[difficulty.disclosure]

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """Return the opening of each conversation, the same for all keys of a group."""
        return [self._opening(key) for key in keys]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Return the user's answer to each reply. Raises ValueError for an ended conversation."""
        pairs = list(zip(turns, replies, strict=True))
        answers = [self._cached_answer(turn, reply) for turn, reply in pairs]
        new = [number for number, answer in enumerate(answers) if answer is None]
        readings = read_all([replies[number].text for number in new], self.reader)
        draws = draws_of_turns([(turns[n].state.key, turns[n].state.turn + 1) for n in new])
        for number, reading, (u, w) in zip(new, readings, draws, strict=True):
            turn, reply = pairs[number]
            answer = answers[number] = self._answer(turn, reply, reading, u, w)
            if turn.state.key.split == HELD_OUT:
                self._held_out_cache.keep_answer(turn.state, reply, answer)
        return [answer for answer in answers if answer is not None]

    def rise_probability(self, state: State, reply: SupporterReply) -> float:
        """Return the exact probability that `reply` raises the emotion of the user of `state`."""
        return self.rise_probabilities([state], [reply])[0]

    def rise_probabilities(
        self, states: Sequence[State], replies: Sequence[SupporterReply]
    ) -> list[float]:
        """Return `rise_probability` for each pair of state and reply."""
        readings = read_all([reply.text for reply in replies], self.reader)
        triples = zip(states, replies, readings, strict=True)
        return [dynamics.rise_probability(self._appraise(*triple).logit) for triple in triples]

    def _opening(self, key: ConversationKey) -> UserTurn:
        if key.split != HELD_OUT:
            return self._open(key)
        turn = self._held_out_cache.opening(key)
        if turn is None:
            turn = self._open(key)
            self._held_out_cache.keep_opening(key, turn)
        return turn

    def _cached_answer(self, turn: UserTurn, reply: SupporterReply) -> UserTurn | None:
        is_held_out = turn.state.key.split == HELD_OUT
        return self._held_out_cache.answer(turn.state, reply) if is_held_out else None

    def _open(self, key: ConversationKey) -> UserTurn:
        user, u = draw_user(key, self.difficulty)
        start = self.difficulty.start_emotion
        disclosed, text = voice.opening(user, start, self._disclosure, u)
        state = State(key, user, start, float(start), disclosed)
        return UserTurn(text, start, None, float(start), None, (), False, {}, state)

    def _answer(
        self,
        turn: UserTurn,
        reply: SupporterReply,
        reading: ReplyReading,
        u: Sequence[float],
        w: Sequence[float],
    ) -> UserTurn:
        """Return the answer to a reply, given the turn's draws `u` and the wording draws `w`."""
        if turn.ended is not None:
            raise ValueError(f"a conversation that has ended ({turn.ended}) can not be answered")
        state: State = turn.state
        appraised = self._appraise(state, reply, reading)
        rises = u[0] < dynamics.rise_probability(appraised.logit)
        large = u[1] < dynamics.large_probability(rises, appraised.appraisal.worth, state.emotion)
        change = self._change(rises, large, state.emotion)
        after = self._next_state(state, change, rises, appraised, u)
        ended = ending(after.emotion, after.turn, self.difficulty)
        heard = _reply_effect(state, reply.text, appraised, change)
        disclosed, text = voice.compose_answer(after, heard, self._disclosure, ended, u[5:], w)
        text = manner(text, state.user.persona.voice)
        return _turn(text, after, disclosed, change, ended, appraised)

    def _appraise(
        self, state: State, reply: SupporterReply, reading: ReplyReading
    ) -> _AppraisedReply:
        puzzle = appraisal.puzzle(reading, reply.start_z, self._typicality_cut)
        suspicion = dynamics.next_suspicion(
            state.suspicion, reading.hurt_evidence, reading.apologises
        )
        user = state.user
        parts = appraisal.appraise(
            reading, reply.cut, puzzle is not None, suspicion, state, self._acceptance
        )
        offset = dynamics.INTENTION_OFFSET[user.intention]
        offset += dynamics.TEMPERAMENT_OFFSET[user.temperament] - self.difficulty.threshold
        reluctance = dynamics.reluctance(user.path, state.trust)
        offset -= reluctance
        x = dynamics.logit(parts.worth, parts.extra, offset, state.emotion, state.momentum)
        return _AppraisedReply(reading, puzzle, suspicion, parts, x, reluctance)

    def _change(self, rises: bool, large: bool, emotion: int) -> int:
        size = dynamics.change_size(large, self.difficulty)
        return min(100, max(0, emotion + (size if rises else -size))) - emotion

    def _next_state(
        self,
        state: State,
        change: int,
        rises: bool,
        appraised: _AppraisedReply,
        u: Sequence[float],
    ) -> State:
        """Return the user's state after the reply, before the user speaks."""
        reading = appraised.reading
        offended = appraised.hurts or appraised.puzzle is not None
        trust = dynamics.next_trust(
            state.trust, appraised.strategies, offended, self._disclosure, u[4], state.user.path
        )
        suspicion = appraised.suspicion
        if appraised.hurts and reading.severe:
            trust, suspicion = 0, dynamics.MOST_SUSPICION
        return State(
            key=state.key,
            user=state.user,
            emotion=state.emotion + change,
            reported=state.reported + reported_change(change, self.difficulty, u),
            disclosed=state.disclosed,
            turn=state.turn + 1,
            trust=trust,
            suspicion=suspicion,
            momentum=1 if rises else -1,
            past_strategies=(*state.past_strategies, appraised.strategy_set),
            sentences=(*state.sentences, *reading.plain_sentences),
            asking=(*state.asking, reading.asking),
        )


def _reply_effect(
    state: State, text: str, appraised: _AppraisedReply, change: int
) -> reactions.ReplyEffect:
    """Return what the user's next words depend on, given their state before the reply."""
    reading, strategies = appraised.reading, appraised.strategies
    last = strategies[-1] if strategies else None
    stems = questions.entities_of(reading.stems)
    if appraised.puzzle is not None:
        return reactions.ReplyEffect(change, "puzzled", None, last, stems, closes=True)
    question = reading.question
    reply = reasons.AppraisedReply(appraised.appraisal, reading, state)
    reason = reasons.of_rise(reply) if change > 0 else reasons.of_fall(reply)
    closes = appraised.hurts and not questions.asks_with_care(question)
    harsh = closes and reasons.is_harsh(reading)
    if harsh and questions.speaks_of_dying(text):
        reason = "death"
    denied = reasons.denial_of(reading) if harsh else ""
    return reactions.ReplyEffect(change, reason, question, last, stems, closes, denied)


def _turn(
    text: str,
    after: State,
    disclosed: Disclosures,
    change: int,
    ended: str | None,
    appraised: _AppraisedReply,
) -> UserTurn:
    """Return the turn that the policy and the trainer receive."""
    emotion, reported = shown_emotions(after.emotion, after.reported, ended)
    return UserTurn(
        text=text,
        emotion=emotion,
        change=change,
        reported_emotion=reported,
        ended=ended,
        strategies=appraised.strategies,
        flagged=appraised.puzzle is not None,
        why=appraised.why(),
        state=after.with_disclosed(disclosed),
    )
