"""What a reply is worth to one user now, by part: dynamics.py says what each part weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.simulator.personas import EVERYONE
from harness.simulator.second import answers, dynamics
from harness.simulator.second.dynamics import Acceptance
from harness.simulator.second.reading import HURTS_FROM, Heard, hurt_of, read
from harness.simulator.second.text import stems
from harness.simulator.state import Disclosed, User

BLAMED = 0.15
"""Worth that a part must have cost to be said to have failed."""
RETOLD = 0.6
"""Share of a told sentence in a reply's sentence from which on that says back what was told."""
GOOD_FAITH = 1.5
"""Nats that who says back what was told is believed to mean well."""
TAKES_UP = 0.5
"""Share of what was told that a reply must speak of to take it up."""
FAR_TOO_LONG = 70
"""Words from which on a reply is too much at once."""
ORDERS = 3
"""Pieces of advice that are too many at once."""
BESIDE_FROM = 6
"""Stems of its own from which on a reply that shares none with what was told speaks of others."""


@dataclass(frozen=True, slots=True)
class Appraised:
    """A reply as one user takes it."""

    parts: Mapping[str, float]
    """What each part is worth, by name."""
    acts: frozenset[str]
    """What the reply did, as wear counts it."""
    cruel: bool

    @property
    def worth(self) -> float:
        """Sum of the parts."""
        return sum(self.parts.values())

    def reason(self, rises: bool) -> str | None:
        """Return the part that helped most, or failed most; None where nothing did.

        Where no part is to blame the mood has sunk by itself, and what helped was too little.
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
    heard: Heard,
    cut: bool,
    user: User,
    disclosed: Disclosed,
    past: Sequence[frozenset[str]],
    spoken: frozenset[str],
    hurt_before: bool,
    acceptance: Acceptance,
) -> Appraised:
    """Return what a reply that is language is worth to `user`.

    `past`: what each reply so far did; `spoken`: the sentences of the policy so far.
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
    if not acts or (not uptake and _elsewhere(heard, user.persona_index, disclosed)):
        parts["beside"] = -dynamics.BESIDE
    orders = sum(s.judged.act == "advise" for s in heard.said)
    if cut or heard.words > FAR_TOO_LONG or orders > ORDERS:
        parts["too_much"] = -dynamics.TOO_MUCH
    if any(s.plain in spoken for s in heard.said if len(s.about) > 1 or not s.asks):
        parts["before"] = -dynamics.SAID_BEFORE
    meant = {name: worth * (1 - doubt if worth > 0 else 1) for name, worth in parts.items()}
    if doubt:
        meant["hurt"] = -dynamics.CRUELTY * doubt
    return Appraised(meant, acts, hurt >= HURTS_FROM)


def _acts(
    acts: frozenset[str],
    user: User,
    disclosed: Disclosed,
    past: Sequence[frozenset[str]],
    acceptance: Acceptance,
) -> dict[str, float]:
    """Return the worth of each act, of which each has its share; what wears off is a part."""
    told, share = len(disclosed.told), len(acts) ** -0.5 if acts else 1.0
    parts, lost = dict[str, float](), 0.0
    for act in sorted(acts):
        fresh = dynamics.value(act, user.intention, acceptance.goal, told)
        left = dynamics.worn(fresh, dynamics.wear(act, past))
        parts[act] = share * fresh
        lost += share * (fresh - left)
    if lost > 0:
        parts["worn"] = -lost
    return parts


def _hurt(heard: Heard, persona: int, disclosed: Disclosed) -> float:
    """Return the log-odds that a reply is cruel; saying back what was told is taken well."""
    nats = []
    for said in heard.said:
        told = any(answers.uptake(persona, n, said.words) >= RETOLD for n in disclosed.told)
        nats.append(said.judged.hurt - (GOOD_FAITH if told else 0.0))
    return hurt_of(nats)


def taken_up(text: str, user: User, disclosed: Disclosed) -> tuple[str, ...]:
    """Return what a reply takes up: sentences told, their feelings and topic, in their words.

    Nothing where nothing that the reply does is heard, or it is no language.
    """
    heard = read(text)
    if heard.fault is not None or not {act for act in heard.acts if act != "remark"}:
        return ()
    persona = user.persona
    sentences = [persona.tellable[n].text for n in _sentences_taken(heard, user, disclosed)]
    feelings = sorted(f for f in disclosed.feelings if _names(heard, f))
    topic = [persona.topic] if _of_topic(heard, user.persona_index) else []
    return (*sentences, *feelings, *topic)


def _taken_up(heard: Heard, user: User, disclosed: Disclosed) -> float:
    """Return what taking up something told is worth: the newest counts most."""
    taken = _sentences_taken(heard, user, disclosed)
    if disclosed.told[-1] in taken:
        return dynamics.TAKEN_UP
    named = any(_names(heard, feeling) for feeling in disclosed.feelings)
    return (
        dynamics.TAKEN_UP_BEFORE if taken or named or _of_topic(heard, user.persona_index) else 0.0
    )


def _sentences_taken(heard: Heard, user: User, disclosed: Disclosed) -> list[int]:
    """Return the sentences told that a reply speaks of, by number."""
    persona, said = user.persona_index, [sentence.words for sentence in heard.said]
    return [n for n in disclosed.told
            if any(answers.uptake(persona, n, words) >= TAKES_UP for words in said)]  # fmt: skip


def _names(heard: Heard, feeling: str) -> bool:
    return any(feeling in said.plain.split() for said in heard.said)


def _of_topic(heard: Heard, persona: int) -> bool:
    return not stems(EVERYONE[persona].topic).isdisjoint(heard.about)


def _elsewhere(heard: Heard, persona: int, disclosed: Disclosed) -> bool:
    """Return whether a reply speaks at length of things that nobody has told."""
    told = frozenset[str]().union(
        *[answers.sentence_stems(persona)[n] for n in disclosed.told]
    )  # fmt: skip
    to_user = any("you" in s.plain.split() or "your" in s.plain.split() for s in heard.said)
    return not to_user and len(heard.about) >= BESIDE_FROM and heard.about.isdisjoint(told)
