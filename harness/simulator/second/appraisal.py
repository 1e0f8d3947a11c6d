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
    reply: ParsedReply,
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
    hurt = _hurt(reply, user.persona_index, disclosed)
    acts = frozenset(act for act in reply.acts if act != "remark")
    doubt = dynamics.doubt(hurt)
    parts = _acts(acts, user, disclosed, past, acceptance)
    uptake = _uptake_worth(reply, user, disclosed)
    if uptake and acts:
        parts["taken_up"] = uptake
    if hurt_before and any(s.judged.sorry for s in reply.said):
        parts["sorry"] = dynamics.SORRY
    if not acts or (not uptake and _is_elsewhere(reply, user.persona_index, disclosed)):
        parts["beside"] = -dynamics.BESIDE
    orders = sum(s.judged.act == "advise" for s in reply.said)
    if cut or reply.words > FAR_TOO_LONG or orders > ORDERS:
        parts["too_much"] = -dynamics.TOO_MUCH
    if any(s.plain in spoken for s in reply.said if len(s.about) > 1 or not s.asks):
        parts["before"] = -dynamics.SAID_BEFORE
    weighted = {name: worth * (1 - doubt if worth > 0 else 1) for name, worth in parts.items()}
    if doubt:
        weighted["hurt"] = -dynamics.CRUELTY * doubt
    return SecondAppraisal(weighted, acts, hurt >= HURTS_FROM)


def _acts(
    acts: frozenset[str],
    user: User,
    disclosed: Disclosures,
    past: Sequence[frozenset[str]],
    acceptance: Acceptance,
) -> dict[str, float]:
    """Return the scaled worth of each act, with the sum of their wear as a part of its own."""
    told_count, share = len(disclosed.told), len(acts) ** -0.5 if acts else 1.0
    parts, worn = dict[str, float](), 0.0
    for act in sorted(acts):
        fresh = dynamics.value(act, user.intention, acceptance.goal, told_count)
        worn_worth = dynamics.worth_after_wear(fresh, dynamics.wear(act, past))
        parts[act] = share * fresh
        worn += share * (fresh - worn_worth)
    if worn > 0:
        parts["worn"] = -worn
    return parts


def _hurt(reply: ParsedReply, persona: int, disclosed: Disclosures) -> float:
    """Return the log-odds that a reply is cruel; restating what was told lowers them."""
    nats = []
    for sentence in reply.said:
        is_restated = any(
            answers.uptake(persona, n, sentence.words) >= RETOLD for n in disclosed.told
        )
        nats.append(sentence.judged.hurt - (GOOD_FAITH if is_restated else 0.0))
    return hurt_of(nats)


def find_taken_up(text: str, user: User, disclosed: Disclosures) -> tuple[str, ...]:
    """Return what a reply takes up, in the user's words: told sentences, feelings, and the topic.

    Empty if the reply has no act or is not language.
    """
    reply = read(text)
    if reply.fault is not None or not {act for act in reply.acts if act != "remark"}:
        return ()
    persona = user.persona
    sentences = [persona.tellable[n].text for n in _taken_up_indices(reply, user, disclosed)]
    feelings = sorted(f for f in disclosed.feelings if _names(reply, f))
    topic = [persona.topic] if _is_of_topic(reply, user.persona_index) else []
    return (*sentences, *feelings, *topic)


def _uptake_worth(reply: ParsedReply, user: User, disclosed: Disclosures) -> float:
    """Return the worth of taking up something told; the newest sentence counts most."""
    indices = _taken_up_indices(reply, user, disclosed)
    if disclosed.told[-1] in indices:
        return dynamics.TAKEN_UP
    named = any(_names(reply, feeling) for feeling in disclosed.feelings)
    return (
        dynamics.TAKEN_UP_BEFORE
        if indices or named or _is_of_topic(reply, user.persona_index)
        else 0.0
    )


def _taken_up_indices(reply: ParsedReply, user: User, disclosed: Disclosures) -> list[int]:
    """Return the indices of the told sentences that a reply takes up."""
    persona, spoken = user.persona_index, [sentence.words for sentence in reply.said]
    return [n for n in disclosed.told
            if any(answers.uptake(persona, n, words) >= TAKES_UP for words in spoken)]  # fmt: skip


def _names(reply: ParsedReply, feeling: str) -> bool:
    return any(feeling in sentence.plain.split() for sentence in reply.said)


def _is_of_topic(reply: ParsedReply, persona: int) -> bool:
    return not stems(EVERYONE[persona].topic).isdisjoint(reply.about)


def _is_elsewhere(reply: ParsedReply, persona: int, disclosed: Disclosures) -> bool:
    """Return whether a reply is about something that the user has not told, and not about them."""
    told_stems = frozenset[str]().union(
        *[answers.sentence_stems(persona)[n] for n in disclosed.told]
    )  # fmt: skip
    to_user = any("you" in s.plain.split() or "your" in s.plain.split() for s in reply.said)
    return not to_user and len(reply.about) >= BESIDE_FROM and reply.about.isdisjoint(told_stems)
