"""The reason why a reply helped or hurt, from which the user's reaction follows.

A reaction makes a claim about the reply or the conversation (`You only ask`), so a reason is a
candidate only where its claim is true. Among the true reasons, the most costly is given.
"""

from __future__ import annotations

import re
from functools import lru_cache

from harness.simulator.scripted import appraisal, dynamics, questions
from harness.simulator.scripted.appraisal import Appraisal
from harness.simulator.scripted.dynamics import LATE_TRUST
from harness.simulator.scripted.lines import HURTFUL, MORE, all_lines
from harness.simulator.scripted.questions import ParsedQuestion
from harness.simulator.scripted.replies import ReplyReading
from harness.simulator.scripted.said_back import denial
from harness.simulator.state import State
from harness.utils.record import record

HARSH = 1.0
"""Evidence in nats above which a hurtful reply is treated as harsh; below it the user only sounds
wary. No kind reply of the validity set is above it."""
EARLY_REPLIES = 4
"""Number of replies before which advice can be called too early."""
VERY_COLD = -1.0
"""Coldness in logits below which the user does not say that the reply helped."""
MANY_STRATEGIES = 3
_CRUEL = 2.5
"""Evidence in nats above which a hurtful reply is called cruel whatever its words."""
_HURT = all_lines((*(f"fall.{reason}" for reason in HURTFUL), "fall.wary", "hurt_of"))
_SAYS_SORRY = re.compile(
    r"\b(?:(?:i am|so|very|really|truly) sorry|^sorry|apolog\w+|forgive me|i take (?:it|that) back|"
    r"should not have (?:said|written)|no excuse|did not mean (?:that|it))\b"
)
HELD_AGAINST = 0.5
"""Suspicion in nats above which there is something to apologise for."""
_OF_SELF = re.compile(
    r"\b(?:me too|i (?:was|had|went|felt|lost|did|used|once|also|have (?:been|had|felt|lost|gone)|"
    r"remember|came|got|made|grew|froze|found|learn\w*|speak|cried|tried|would feel|feel the|"
    r"know (?:it|that|what it|how it|this))|"
    r"my (?:\w+ )?(?!guess|advice|idea|opinion|words|point)\w+|mine|when i|for me|to me|"
    r"in our|with us)\b"
)
_PLATITUDE = re.compile(
    r"\b(?:at least|for a reason|bright side|(?:could|might) (?:be|have been) worse|"
    r"(?:stay|be|think) positive|others have|people have it|worse off|time heals|"
    r"be fine|is fine now|blessings?|move on|get over|cheer up|calm down|plenty of|"
    r"not the end of the world|look at what you)\b"
)
_PRAISES = re.compile(
    r"\b(?:you are|you have been|"
    r"you (?:\w+ )?(?:did|do|have|deserve|show\w*|manage\w*|keep|kept|gave)|"
    r"well done|proud|brave\w*|strong|strength|courage\w*|your)\b"
)
_PRESENT = re.compile(
    r"\b(?:i am (?:\w+ )?(?:here|listening|with you|not going|all ears)|"
    r"i (?:will )?(?:listen|stay)|"
    r"here for you|with you|listening|take (?:all )?(?:the|your) time|your (?:own )?(?:time|pace)|"
    r"not alone|i will be here|by your side|go anywhere|no hurry|no rush)\b"
)


@lru_cache(maxsize=65536)
def _matches(pattern: re.Pattern[str], plain: str) -> bool:
    """Cached because replies recur."""
    return pattern.search(plain) is not None


@record
class AppraisedReply:
    """A reply and its appraisal by the user; `state` is the state before the reply."""

    parts: Appraisal
    reading: ReplyReading
    state: State

    @property
    def question(self) -> ParsedQuestion | None:
        """The question that the reply asks, if any."""
        return self.reading.question

    @property
    def last(self) -> str | None:
        """The last strategy."""
        return self.reading.strategies[-1] if self.reading.strategies else None

    @property
    def plain(self) -> str:
        """The reply in plain words."""
        return " ".join(self.reading.plain_sentences)

    @property
    def apologises(self) -> bool:
        """Whether the reply apologises for an earlier one that hurt."""
        hurt = self.state.suspicion > HELD_AGAINST or not _HURT.isdisjoint(
            self.state.disclosed.lines
        )
        return hurt and (self.reading.apologises or _matches(_SAYS_SORRY, self.plain))

    @property
    def tells_of_self(self) -> bool:
        """Whether the supporter tells of their own life."""
        return _matches(_OF_SELF, self.plain)


def is_harsh(reading: ReplyReading) -> bool:
    """Return whether a reply that the user hears as hurtful is harsh beyond doubt."""
    evidence = reading.hurt_evidence
    gently = reading.strategies[-1:] in (("suggest",), ("inform",), ("question",))
    threshold = _CRUEL if gently else HARSH
    return reading.severe or evidence > threshold or (reading.hurts and evidence > 0)


def of_hurt(reply: AppraisedReply) -> str:
    """Return how a harsh reply hurts: brushed (it makes light of the problem), cruel or hurt."""
    reading = reply.reading
    if _matches(_PLATITUDE, reply.plain) and not (reading.severe or reading.hurts):
        return "brushed"
    belittles = reading.severe or reading.hurts or denial_of(reading)
    return "cruel" if belittles or reading.hurt_evidence > _CRUEL else "hurt"


def denial_of(reading: ReplyReading) -> str:
    """Return a first-person denial of a cruel reply's accusation; empty if there is none."""
    accused = max(reading.sentences, key=lambda sentence: sentence.hurt_log_odds)
    return denial(accused.plain)


def of_rise(reply: AppraisedReply) -> str:
    """Return the reason for a rise: one of lines.RISES, or `unmoved`."""
    question, last, state = reply.question, reply.last, reply.state
    if question is not None and question.subject == "checked":
        return "restate"
    if question is not None and question.wants_telling:
        return "safe" if questions.asks_with_care(question) else "question"
    if reply.apologises:
        return "apology"
    if last is None or reply.parts.worth + reply.parts.extra < 0:
        return "unmoved" if reply.parts.coldness < VERY_COLD else "anyway"
    if not reply.reading.feelings.isdisjoint(state.disclosed.feelings):
        return "named" if last == "reflect" else _supported_reason(last, reply)
    if last in ("restate", "other") and reply.parts.pick_up >= appraisal.FRESH_FACT:
        return "taken_up"
    return _supported_reason(last, reply)


def _supported_reason(last: str, reply: AppraisedReply) -> str:
    """Return the strategy as the reason for a rise, or a reason that the reply bears out better."""
    if last == "other" and _matches(_PRESENT, reply.plain):
        return "presence"
    if last == "disclose" and not reply.tells_of_self:
        return "anyway"
    if last == "question" and reply.question is None:
        return "anyway"
    return last


def of_fall(reply: AppraisedReply) -> str:
    """Return the reason for a fall: one of lines.FALLS, or lines.MORE and a strategy."""
    parts, question = reply.parts, reply.question
    if questions.asks_with_care(question):
        return "safe"
    if parts.hurt < 0 and is_harsh(reply.reading):
        return of_hurt(reply)
    if parts.hurt < 0 and reply.last not in ("suggest", "inform"):
        return "wary"
    if question is not None:
        return _question_reason(question, reply)
    if reply.apologises:
        return "apology"
    reasons = _reasons(reply)
    worst = min(reasons, key=lambda reason: reasons[reason])
    return worst if reasons[worst] < 0 else "anyway"


def _question_reason(question: ParsedQuestion, reply: AppraisedReply) -> str:
    """Return the reason for a fall after a question.

    It is `asked_again` or `only_asks` only if the fatigue comes from repeated questions.
    """
    if question.subject == "checked":
        return "restate"
    if not question.wants_telling:
        return "offer" if question.kind in ("offer", "proposal") else "anyway"
    if reply.last == "suggest":
        return "suggest"
    asking = (*reply.state.asking, reply.reading.asking)
    if reply.parts.fatigue > -dynamics.PREVIOUS or "never" in asking[-2:] or len(asking) < 2:
        return "question"
    only = len(asking) > 2 and set(asking) == {"only"}
    return "only_asks" if only else "asked_again"


def _reasons(reply: AppraisedReply) -> dict[str, float]:
    """Return the effect in logits of each reason that is true of the reply."""
    parts, reading = reply.parts, reply.reading
    costs = {_unfit_reason(reply): dynamics.FIT_WEIGHT * parts.worth, "cold": parts.coldness,
             "wary": parts.doubt}  # fmt: skip
    if parts.confusion and reply.last == "reflect":
        costs["reflect"] = costs.get("reflect", 0.0) + parts.confusion
    elif parts.confusion:
        costs["misread"] = parts.confusion
    if parts.repetition and appraisal.says_again(reading, reply.state):
        costs["again"] = parts.repetition + parts.fatigue
    past = reply.state.past_strategies
    if reply.last not in (None, "question") and past and reply.last in past[-1]:
        costs[f"{MORE}{reply.last}"] = parts.fatigue
    if reading.word_count < appraisal.FEW_WORDS:
        costs["short"] = parts.form + min(0.0, dynamics.FIT_WEIGHT * parts.worth)
    elif reading.word_count > appraisal.LONG_WORDS:
        costs["long"] = parts.form
    elif len(reading.strategy_set) >= MANY_STRATEGIES:
        costs["many"] = parts.form
    return costs


def _unfit_reason(reply: AppraisedReply) -> str:
    """Return the reason for a strategy that does not serve the user's intention."""
    last = reply.last
    if last is None:
        return "empty"
    early = reply.state.trust < LATE_TRUST and reply.state.turn < EARLY_REPLIES
    if last == "suggest" and early:
        return "early"
    if last == "restate" and reply.parts.pick_up > 0:
        return "said_back"
    if last == "affirm" and _matches(_PRAISES, reply.plain):
        return "praise"
    if last == "question" or (last == "disclose" and not reply.tells_of_self):
        return "anyway"
    return last
