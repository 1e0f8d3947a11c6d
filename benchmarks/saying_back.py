"""How likely the start model of policy=tiny is to say back what users told whom it has never met.

    python -m benchmarks.saying_back [tune|final] [POLICY_AS_JSON]

An undecided supporter talks with held-out users. Wherever it says a fact or a topic, the model is
asked instead: the probability, exact and at temperature 1, that it goes on with a fact (a topic)
that this user told, whole and without a slip, given all before. `plain`: as the users tell it.
`new words`: 60% of the content words are exchanged for words that no text of the warm start has.
`tune` are every other held-out user and every other such word, `final` the rest: look at `final`
only for results.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from harness.config.run import PolicyConfig, SimulatorConfig
from harness.policy import tiny
from harness.policy.chat import Chat, chat_of
from harness.policy.grammar import slot_spans
from harness.policy.listening import listen, turn_round
from harness.simulator.factory import make
from harness.simulator.personas import PERSONAS, Persona
from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey
from harness.simulator.scripted.lines import ANSWERS, LINES, NEED_LINES, manner, rows_of
from harness.simulator.scripted.words import FUNCTION_WORDS, KNOWN
from harness.train.engines.scoring import log_probabilities, own_logits, pad_rows
from harness.train.rollout.conversation import rollout
from harness.train.warm_start import retelling, start_model, training_rows

CONVERSATIONS, SLOTS, ROWS_AT_ONCE = 80, 100, 16
EXCHANGED = 0.6
HALVES = ("tune", "final")
WORD = re.compile(r"[A-Za-z]+")
AFTER = re.compile(r"[.,?]| \w+")
Draw = Callable[[], float]


@dataclass(frozen=True)
class Slot:
    """A place where the supporter said something back."""

    before: list[str]
    """Turns of the conversation so far."""
    prefix: str
    """The reply up to the slot."""
    choices: tuple[str, ...]
    """All that would be right."""
    after: str
    """The stop or the word after the slot, which shows that it has ended."""


def main() -> None:
    half = sys.argv[1] if len(sys.argv) > 1 else HALVES[0]
    policy = PolicyConfig(**json.loads(sys.argv[2])) if len(sys.argv) > 2 else PolicyConfig()
    folder = start_model.ensure(policy)
    model, chat = tiny.load_model(folder), chat_of(tiny.load_tokenizer(folder))
    print("| users | facts | topics |\n|---|---|---|")
    for kind, slots in battery(HALVES.index(half)).items():
        means = [f"{np.mean([chance(model, chat, s) for s in some]):.2f} of {len(some)}"
                 for some in slots]  # fmt: skip
        print(f"| {half}, {kind} | " + " | ".join(means) + " |", flush=True)


def battery(half: int) -> dict[str, tuple[list[Slot], list[Slot]]]:
    """Slots for facts and for topics, by kind of users."""
    names = {person.name for person in PERSONAS[HELD_OUT][half::2]}
    rng, words = np.random.default_rng(7), new_words()[half::2]
    talks: dict[str, list[list[str]]] = {"plain": [], "new words": []}
    for number, users in enumerate(training_rows.USERS):
        keys = [ConversationKey(training_rows.SEED, 2_000_000, n, 0, HELD_OUT)
                for n in range(CONVERSATIONS)]  # fmt: skip
        speaker = training_rows.GrammarSpeaker(np.random.default_rng([9, number]))
        for talk in rollout(make(SimulatorConfig(), users), speaker, keys):
            person = talk.opening.state.user.persona
            if person.name in names:
                turns = training_rows.texts(talk)
                talks["plain"].append(turns)
                talks["new words"].append(with_new_words(turns, person, words, rng.random))
    return {kind: (_some(some, "facts", rng), _some(some, "topics", rng))
            for kind, some in talks.items()}  # fmt: skip


def _some(talks: list[list[str]], name: str, rng: np.random.Generator) -> list[Slot]:
    slots = [slot for turns in talks for slot in _slots(turns, name)]
    return [slots[n] for n in rng.permutation(len(slots))[:SLOTS]]


def _slots(turns: list[str], name: str) -> Iterator[Slot]:
    """The slots in all replies of a conversation that hold facts, or topics."""
    for n in range(1, len(turns), 2):
        right = tuple(dict.fromkeys(getattr(listen(turns[:n:2]), name)))
        for begin, end in slot_spans(turns[n], turns[:n:2]):
            if turns[n][begin:end] in right:
                after = AFTER.match(turns[n], end)
                yield Slot(turns[:n], turns[n][:begin], right, after[0] if after else "")


@torch.no_grad()
def chance(model: Any, chat: Chat, slot: Slot) -> float:
    """Probability that the model fills a slot with one of what is right."""
    speakers = ("user", "policy")
    before = chat.prefix([(speakers[n % 2], text) for n, text in enumerate(slot.before)])
    total = 0.0
    for begin in range(0, len(slot.choices), ROWS_AT_ONCE):
        ids, own = [], []
        for choice in slot.choices[begin : begin + ROWS_AT_ONCE]:
            placed = chat.placed(slot.prefix + choice + slot.after)
            ids.append([*before, *(token for token, _, _ in placed)])
            own.append([0] * len(before) + [int(end > len(slot.prefix)) for _, _, end in placed])
        tokens, mask = pad_rows(ids, 0), pad_rows(own, 0).bool()
        losses = torch.zeros(mask.shape)
        losses[mask] = log_probabilities(own_logits(model, tokens, mask), tokens[mask], 1.0)
        total += float(losses.sum(dim=1).exp().sum())
    return total


def new_words() -> list[str]:
    """English words of three to nine letters that no text of the warm start has, shuffled."""
    tables = (*LINES.values(), *ANSWERS.values())
    said = [*NEED_LINES, *(line for table in tables for line in rows_of(table))]
    said += [sentence.text for person in PERSONAS[TRAIN] for sentence in person.tellable]
    seen = {word.lower() for text in said for word in WORD.findall(text)}
    seen |= {word.lower() for word in retelling.content_words()} | FUNCTION_WORDS
    rows = KNOWN.read_text(encoding="utf-8").splitlines()[1:]
    known = [row.partition("\t")[0] for row in rows]
    words = [w for w in known if w.isalpha() and 3 <= len(w) <= 9 and w not in seen]
    return [words[n] for n in np.random.default_rng(5).permutation(len(words))]


def with_new_words(
    turns: Sequence[str], person: Persona, words: Sequence[str], draw: Draw
) -> list[str]:
    """The conversation with new words in what the user tells and in the topic."""

    def reworded(text: str) -> str:
        def other(found: re.Match[str]) -> str:
            change = retelling.carries(found.group()) and draw() < EXCHANGED
            return words[int(draw() * len(words))] if change else found.group()

        new = WORD.sub(other, text)
        return new[0].upper() + new[1:] if text[0].isupper() else new

    told = [manner(s.text.rstrip("."), person.voice) for s in person.tellable]
    swap = {old: reworded(old) for old in told} | {person.topic: reworded(person.topic)}
    swap |= {turn_round(old): turn_round(new) for old, new in swap.items()}
    longest_first = sorted(swap, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in longest_first))
    return [pattern.sub(lambda found: swap[found.group()], text) for text in turns]


if __name__ == "__main__":
    main()
