"""What users say of a reply holds of it, over random conversations; nothing is told twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from harness.calibration.validity.replies import pairs, singles
from harness.config.run import LEVELS, STRATEGIES
from harness.simulator.draws import pick, uniforms
from harness.simulator.listening import to_second_person
from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted import appraisal, lines, questions, reasons
from harness.simulator.scripted.lines import ANSWERS, LINES, expand_contractions, rows_of
from harness.simulator.scripted.reading import read
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.scripted.words import sentences, words
from tests.calibration.levels import LEVELS as CONFIGS

TALKS = 250
OWN = (
    "How are you?", "Why?", "And then?", "Who knows about it?", "Do you sleep well?", "Go on.",
    "What happened?", "Since when?", "What have you tried?", "I am here.", "Sorry I said that.",
    "I am so sorry, that was unkind of me.", "You should take a walk every day.",
    "Make a list and do one thing a day.", "You are weak and you know it.", "Shut up.",
    "You are so strong.", "I felt just the same when my father died.", "Would you like advice?",
    "Could you talk to them?", "Are you safe?", "Do you think about suicide?", "I am here.",
)  # fmt: skip


@cache
def replies() -> tuple[str, ...]:
    tuned = [s.text for s in singles() if s.half == "tuned" and s.category != "gibberish"]
    both = [text for p in pairs() if p.half == "tuned" for text in (p.kind, p.cruel)]
    return (*tuned, *both, *(OWN * 12))


@cache
def talks() -> tuple[list[tuple[UserTurn, str, UserTurn]], ...]:
    """Conversations of random replies, as (turn before, reply, turn after)."""
    return tuple(map(talk, range(TALKS)))


def talk(number: int) -> list[tuple[UserTurn, str, UserTurn]]:
    simulator = ScriptedSimulator(CONFIGS[LEVELS[number % len(LEVELS)]])
    key = ConversationKey(11, 1, number, 0, HELD_OUT if number % 4 == 0 else TRAIN)
    (turn,) = simulator.open([key])
    exchanges: list[tuple[UserTurn, str, UserTurn]] = []
    asks = tuple(text for text in replies() if questions.asking(text) == "only")
    while turn.ended is None:
        u = uniforms("talk", number, len(exchanges))
        text = pick(asks if number % 5 == 0 else replies(), u[0])
        if exchanges and u[1] < 0.1:
            text = exchanges[-1][1]
        elif u[1] < 0.35:
            text = taking_up(turn, u[2])
        (after,) = simulator.answer([turn], [SupporterReply(text)])
        exchanges.append((turn, text, after))
        turn = after
    return exchanges


def taking_up(turn: UserTurn, u: float) -> str:
    """Return a reply that says back something told, or names a feeling."""
    told, persona = turn.state.disclosed, turn.state.user.persona
    fact = to_second_person(persona.tellable[told.told[-1]].text)
    forms = (
        f"So {fact}.",
        f"You said that {fact}.",
        f"You feel so {min(told.feelings)} about it.",
        f"It sounds as if you are very {min(told.feelings)}.",
    )
    return pick(forms, u)


def exchanges() -> Iterator[tuple[UserTurn, str, UserTurn]]:
    for some in talks():
        yield from some


Claim = Callable[[UserTurn, str, UserTurn], bool]


def number(after: UserTurn, part: str) -> float:
    value = after.why[part]
    assert isinstance(value, float)
    return value


def asks(before: UserTurn, text: str, after: UserTurn) -> bool:
    return questions.question_in(text) is not None


def hurt_before(before: UserTurn) -> bool:
    said = lines.all_lines(
        ("fall.hurt", "fall.cruel", "fall.brushed", "fall.death", "fall.wary", "hurt_of")
    )
    return before.state.suspicion > reasons.HELD_AGAINST or bool(
        said & before.state.disclosed.lines
    )


def apologises(before: UserTurn, text: str, after: UserTurn) -> bool:
    sorry = r"sorry|apolog|forgive|back|should not|shouldn't|mean|excuse"
    said = read(text).apologises or re.search(sorry, text.lower()) is not None
    return said and hurt_before(before)


def tells_of_self(before: UserTurn, text: str, after: UserTurn) -> bool:
    return not {"i", "me", "my", "mine", "we", "our", "us"}.isdisjoint(words(text))


CLAIMS: dict[str, Claim] = {
    "fall.only_asks": lambda b, t, a: len(a.state.asking) > 2 and set(a.state.asking) == {"only"},
    "fall.asked_again": lambda b, t, a: "never" not in a.state.asking[-2:] and a.state.turn > 1,
    "fall.question": asks,
    "fall.offer": asks,
    "fall.safe": asks,
    "fall.again": lambda b, t, a: appraisal.says_again(read(t), b.state),
    "fall.short": lambda b, t, a: len(words(t)) < 4,
    "fall.long": lambda b, t, a: len(words(t)) > 60,
    "fall.many": lambda b, t, a: len(read(t).strategy_set) > 2,
    "fall.misread": lambda b, t, a: number(a, "confusion") < 0,
    "fall.early": lambda b, t, a: "suggest" in a.strategies and a.state.turn <= 4,
    "fall.said_back": lambda b, t, a: number(a, "pick_up") > 0 and "restate" in a.strategies,
    "fall.apology": apologises,
    "fall.disclose": tells_of_self,
    "fall.hurt": lambda b, t, a: number(a, "hurt") < 0,
    "fall.cruel": lambda b, t, a: number(a, "hurt") < 0,
    "fall.brushed": lambda b, t, a: number(a, "hurt") < 0,
    "hurt_of": lambda b, t, a: number(a, "hurt") < 0,
    "fall.death": lambda b, t, a: number(a, "hurt") < 0 and questions.speaks_of_dying(t),
    "fall.cold": lambda b, t, a: number(a, "coldness") < 0,
    "fall.wary": lambda b, t, a: number(a, "hurt") < 0 or number(a, "doubt") < 0,
    "rise.question": asks,
    "rise.safe": asks,
    "rise.apology": apologises,
    "rise.disclose": tells_of_self,
    "rise.taken_up": lambda b, t, a: number(a, "pick_up") > 0,
    "rise.named": lambda b, t, a: bool(read(t).feelings & b.state.disclosed.feelings),
    "rise.presence": lambda b, t, a: re.search(
        r"here|listen|stay|with you|time|pace|alone|side|anywhere|hurry|rush", t.lower()
    ) is not None,
}  # fmt: skip
for way in ("rise", "fall"):
    for strategy in ("restate", "reflect", "affirm", "suggest", "inform", "other"):
        CLAIMS[f"{way}.{strategy}"] = lambda b, t, a, s=strategy: s in a.strategies  # type: ignore[misc]
CLAIMS["fall.praise"] = CLAIMS["fall.affirm"]


def more_of(strategy: str) -> Claim:
    return lambda b, t, a: all(strategy in used for used in a.state.past_strategies[-2:])


def tables_of(line: str) -> list[str]:
    return [name for name, table in LINES.items() if line in rows_of(table)]


def test_a_complaint_or_a_thank_is_true_of_the_reply_and_the_talk() -> None:
    met = Counter[str]()
    for before, text, after in exchanges():
        first = sentences(expand_contractions(after.text))[0]
        names = tables_of(first)
        for name in names:
            met[name] += 1
        for strategy in STRATEGIES:
            if first in LINES["more_of"][strategy]:
                assert more_of(strategy)(before, text, after), (text, after.text)
        claimed = [name for name in names if name in CLAIMS]
        if claimed and claimed == names:
            true = [name for name in claimed if CLAIMS[name](before, text, after)]
            assert true, (names, text, after.text)
    unmet = {name for name in CLAIMS if not met[name]}
    assert len(unmet) <= 2, unmet


@pytest.mark.parametrize("name", ["fall.only_asks", "fall.again", "fall.long", "rise.apology"])
def test_a_claim_is_false_of_most_replies(name: str) -> None:
    """Else the test above could not fail."""
    false = [not CLAIMS[name](*exchange) for exchange in exchanges()]
    assert sum(false) > 0.8 * len(false)


def pattern(*names: str) -> re.Pattern[str]:
    every = [re.escape(line).replace(r"\{x\}", r"[\w' ]+") for name in names
             for line in rows_of(ANSWERS[name])]  # fmt: skip
    return re.compile(rf"(?:^|(?<=[.?!] ))(?:{'|'.join(every)})(?= |$)", re.IGNORECASE)


def test_nobody_refuses_and_tells() -> None:
    refuses, needs = pattern("rather_not"), frozenset(lines.NEED_LINES)
    refused = 0
    for before, _, after in exchanges():
        text = expand_contractions(after.text)
        if refuses.search(text):
            refused += 1
            assert after.state.disclosed.told == before.state.disclosed.told, text
            assert not any(line in text for line in needs), text
            assert after.state.disclosed.feelings == before.state.disclosed.feelings, text
    assert refused > 10


def test_nothing_is_told_twice() -> None:
    for some in talks():
        life = {told.text for told in some[0][0].state.user.persona.tellable}
        turns = [some[0][0], *(after for _, _, after in some)]
        spoken = Counter(
            s for turn in turns for s in sentences(expand_contractions(turn.text)) if s in life
        )
        assert max(spoken.values(), default=0) <= 1, spoken.most_common(1)


def test_goodbye_is_said_at_the_end_and_answers_are_not_promised_there() -> None:
    goodbyes = lines.all_lines([f"farewell.{e}" for e in lines.ENDINGS] + ["storms_off"])
    promises = re.compile(r"will (?:try to say|answer|not dodge)|let me (?:think|see)|do i begin")
    for _, text, after in exchanges():
        said = expand_contractions(after.text)
        assert any(said.endswith(g) for g in goodbyes) == (after.ended is not None), said
        question = questions.question_in(text)
        if after.ended == "left" and question is not None and question.subject != "safe":
            assert not promises.search(said.lower()), said
