"""The appraisal of a reply by one user, as a sum of parts; dynamics.py has their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.simulator.personas import EVERYONE
from harness.simulator.second import answers, dynamics
from harness.simulator.second.dynamics import Acceptance
from harness.simulator.second.reading import HURTS_FROM, ParsedReply, hurt_of, read
from harness.simulator.second.text import stems
from harness.simulator.state import Disclosures, User

BLAMED = 0.15
"""Cost from which a part is given as the reason for a fall."""
RETOLD = 0.6
"""Share of a told sentence from which a reply's sentence counts as restating it."""
GOOD_FAITH = 1.5
"""Nats subtracted from the log-odds of cruelty of a sentence that restates what was told."""
TAKES_UP = 0.5
"""Share of a told sentence from which a reply takes it up."""
FAR_TOO_LONG = 70
"""A reply with more words is too long."""
ORDERS = 3
"""A reply with more sentences of advice has too much of it."""
BESIDE_FROM = 6
"""Stems from which a reply that shares none with what was told speaks of something else."""


@dataclass(frozen=True, slots=True)
class SecondAppraisal:
    """The appraisal of a reply by one user."""

    parts: Mapping[str, float]
    """Worth of each part, by name."""
    acts: frozenset[str]
    """Acts of the reply that wear counts."""
    cruel: bool

    @property
    def worth(self) -> float:
        """Sum of the parts."""
        return sum(self.parts.values())

    def reason(self, rises: bool) -> str | None:
        """Return the part that helped most, or cost most; None for a rise without a helpful part.

        It is `little` for a fall that no part explains: the reply helped less than the mood decays.
        """
        if self.cruel:
            return None if rises else "cruel"
        if rises:
            name = max(self.parts, key=lambda part: self.parts[part], default=None)
            return name if name is not None and self.parts[name] > 0 else None
        blamed = {part: worth for part, worth in self.parts.items() if part != "hurt"}
        name = min(blamed, key=lambda part: blamed[part], default=None)
        return "little" if name is None or blamed[name] > -BLAMED else name


def appraise(
    heard: ParsedReply,
    cut: bool,
    user: User,
    disclosed: Disclosures,
    past: Sequence[frozenset[str]],
    spoken: frozenset[str],
    hurt_before: bool,
    acceptance: Acceptance,
) -> SecondAppraisal:
    """Return the appraisal by `user` of a reply that is language.

    `past` has the acts of each reply so far, `spoken` the policy's sentences so far, and
    `hurt_before` says whether an earlier reply was cruel.
    """
    hurt = _hurt(heard, user.persona_index, disclosed)
    acts = frozenset(act for act in heard.acts if act != "remark")
    doubt = dynamics.doubt(hurt)
    parts = _acts(acts, user, disclosed, past, acceptance)
    uptake = _taken_up(heard, user, disclosed)
    if uptake and acts:
        parts["taken_up"] = uptake
    if hurt_before and any(s.judged.sorry for s in heard.said):
        parts["sorry"] = dynamics.SORRY
    if not acts or (not uptake and _is_elsewhere(heard, user.persona_index, disclosed)):
        parts["beside"] = -dynamics.BESIDE
    orders = sum(s.judged.act == "advise" for s in heard.said)
    if cut or heard.words > FAR_TOO_LONG or orders > ORDERS:
        parts["too_much"] = -dynamics.TOO_MUCH
    if any(s.plain in spoken for s in heard.said if len(s.about) > 1 or not s.asks):
        parts["before"] = -dynamics.SAID_BEFORE
    meant = {name: worth * (1 - doubt if worth > 0 else 1) for name, worth in parts.items()}
    if doubt:
        meant["hurt"] = -dynamics.CRUELTY * doubt
    return SecondAppraisal(meant, acts, hurt >= HURTS_FROM)


def _acts(
    acts: frozenset[str],
    user: User,
    disclosed: Disclosures,
    past: Sequence[frozenset[str]],
    acceptance: Acceptance,
) -> dict[str, float]:
    """Return the scaled worth of each act, with the sum of their wear as a part of its own."""
    told, share = len(disclosed.told), len(acts) ** -0.5 if acts else 1.0
    parts, lost = dict[str, float](), 0.0
    for act in sorted(acts):
        fresh = dynamics.value(act, user.intention, acceptance.goal, told)
        left = dynamics.worth_after_wear(fresh, dynamics.wear(act, past))
        parts[act] = share * fresh
        lost += share * (fresh - left)
    if lost > 0:
        parts["worn"] = -lost
    return parts


def _hurt(heard: ParsedReply, persona: int, disclosed: Disclosures) -> float:
    """Return the log-odds that a reply is cruel; restating what was told lowers them."""
    nats = []
    for said in heard.said:
        told = any(answers.uptake(persona, n, said.words) >= RETOLD for n in disclosed.told)
        nats.append(said.judged.hurt - (GOOD_FAITH if told else 0.0))
    return hurt_of(nats)


def find_taken_up(text: str, user: User, disclosed: Disclosures) -> tuple[str, ...]:
    """Return what a reply takes up, in the user's words: told sentences, feelings, and the topic.

    Empty if the reply has no act or is not language.
    """
    heard = read(text)
    if heard.fault is not None or not {act for act in heard.acts if act != "remark"}:
        return ()
    persona = user.persona
    sentences = [persona.tellable[n].text for n in _sentences_taken(heard, user, disclosed)]
    feelings = sorted(f for f in disclosed.feelings if _names(heard, f))
    topic = [persona.topic] if _is_of_topic(heard, user.persona_index) else []
    return (*sentences, *feelings, *topic)


def _taken_up(heard: ParsedReply, user: User, disclosed: Disclosures) -> float:
    """Return the worth of taking up something told; the newest sentence counts most."""
    taken = _sentences_taken(heard, user, disclosed)
    if disclosed.told[-1] in taken:
        return dynamics.TAKEN_UP
    named = any(_names(heard, feeling) for feeling in disclosed.feelings)
    return (
        dynamics.TAKEN_UP_BEFORE
        if taken or named or _is_of_topic(heard, user.persona_index)
        else 0.0
    )


def _sentences_taken(heard: ParsedReply, user: User, disclosed: Disclosures) -> list[int]:
    """Return the indices of the told sentences that a reply takes up."""
    persona, said = user.persona_index, [sentence.words for sentence in heard.said]
    return [n for n in disclosed.told
            if any(answers.uptake(persona, n, words) >= TAKES_UP for words in said)]  # fmt: skip


def _names(heard: ParsedReply, feeling: str) -> bool:
    return any(feeling in said.plain.split() for said in heard.said)


def _is_of_topic(heard: ParsedReply, persona: int) -> bool:
    return not stems(EVERYONE[persona].topic).isdisjoint(heard.about)


def _is_elsewhere(heard: ParsedReply, persona: int, disclosed: Disclosures) -> bool:
    """Return whether a reply is about something that the user has not told, and not about them."""
    told = frozenset[str]().union(
        *[answers.sentence_stems(persona)[n] for n in disclosed.told]
    )  # fmt: skip
    to_user = any("you" in s.plain.split() or "your" in s.plain.split() for s in heard.said)
    return not to_user and len(heard.about) >= BESIDE_FROM and heard.about.isdisjoint(told)
