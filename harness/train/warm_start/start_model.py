"""The start model of policy=tiny: built once from the phrase grammar, then found in a cache.

The cache is a user folder ($HARNESS_CACHE, else the XDG cache); an entry's name is a hash of all
that determines it. It appears whole, by one rename, and two runs never build it at once; what is
not as its manifest says, or could be somebody else's, is said, set aside and built again.
`python -m harness.train.warm_start.start_model [POLICY_AS_JSON]` builds it ahead of a sweep.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from harness import simulator
from harness.config.run import INTENTIONS, STRATEGIES, PolicyConfig
from harness.errors import ConfigError, HarnessError
from harness.records import atomic, user_folders
from harness.train.warm_start import dialogues, start_cache
from harness.utils import process, safe_text

if TYPE_CHECKING:
    from harness.policy.chat import Chat

MOST_DIALOGUES = 3600
"""A longer warm start reads them more than once; a shorter one generates what it reads."""
DIALOGUES_A_STEP, COPY_ROWS_A_STEP = 8, 64
COPY_LEARNING_RATE = 5e-3
"""Higher ones, which suit the dialogues, kept copying from being found within 500 steps."""
USER_WEIGHT = 0.5
"""Of the user's tokens in the loss: users come back to their own words, and a model that sees it
learns to take words up from the conversation sooner."""
TOKENIZER_DIALOGUES = 900
WEIGHTS_SEED = 1
SAY_EVERY_S = 10.0
VERSION = 1
"""Of what a start model is taught and how: one more where the same policy gets other weights."""
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")


def ensure(policy: PolicyConfig) -> Path:
    """The folder of `policy`'s start model: weights, tokenizer, card.json; built if it is missing
    or not sound. Raises StorageError where the cache cannot be written.
    """
    folder = entry(policy)
    with atomic.storage(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not _is_sound(folder):
            with FileLock(folder.with_suffix(".lock")):
                if not _is_sound(folder):
                    _clear_the_place(folder)
                    _build(policy, folder)
    return folder


def entry(policy: PolicyConfig) -> Path:
    """Where the start model of `policy` lies, once it is built."""
    return user_folders.cache() / f"start-{key(policy)}"


def _is_sound(folder: Path) -> bool:
    return os.path.lexists(folder) and start_cache.problem(folder) is None


def _clear_the_place(folder: Path) -> None:
    """Say what is wrong with what lies there, and move it away."""
    if os.path.lexists(folder):
        problem = start_cache.problem(folder)
        aside = start_cache.set_aside(folder)
        safe_text.say(f"{problem}; it is built again, and what was there is now {aside.name}")


def key(policy: PolicyConfig) -> str:
    """16 hex digits of all that determines the start model."""
    own = {f: getattr(policy, f) for f in (*SHAPE, "max_turn_tokens")}
    users = [
        dataclasses.asdict(level) for level in dialogues.USERS
    ]  # with the defaults of config.py
    meaning = [VERSION, simulator.VERSION]
    known = [own, users, STRATEGIES, INTENTIONS, meaning]
    digest = hashlib.sha256(json.dumps(known).encode())
    digest.update(json.dumps({name: version(name) for name in LIBRARIES}).encode())
    return digest.hexdigest()[:16]


SHAPE = (
    "hidden_size",
    "layers",
    "attention_heads",
    "vocabulary",
    "warm_start_copy_steps",
    "warm_start_steps",
    "warm_start_learning_rate",
)
"""Keys of `policy` that determine weights and tokenizer."""


def _build(policy: PolicyConfig, folder: Path) -> None:
    """Generate, train, measure, and only then take the place in the cache."""
    from harness.policy import tiny
    from harness.policy.chat import chat_of
    from harness.train.warm_start.start_card import measure, summary

    progress = Progress(policy.warm_start_copy_steps + policy.warm_start_steps)
    wanted = min(MOST_DIALOGUES, policy.warm_start_steps * DIALOGUES_A_STEP)
    spoken = dialogues.generate(wanted)
    texts = (text for dialogue in spoken[:TOKENIZER_DIALOGUES] for text in dialogue)
    tokenizer = tiny.build_tokenizer(texts, policy.vocabulary)
    chat = chat_of(tokenizer)
    model = tiny.build_model(policy, tokenizer, WEIGHTS_SEED)
    _learn_to_copy(policy, model, progress)
    loss = _learn_to_talk(policy, model, spoken, chat, progress)
    card = {"loss_nats": loss, **measure(model.eval(), chat, policy)}

    def fill(scratch: Path) -> None:
        tiny.save(scratch, model, tokenizer)
        atomic.write_json(scratch / "card.json", card)
        start_cache.seal(scratch)

    place = folder.parent.resolve() / folder.name  # a cache may be a link of its user's
    atomic.clear(place.parent, place.name)  # the lock is ours: what a killed build left behind
    atomic.write_folder(place, fill)
    progress.done(summary(card))


def _learn_to_copy(policy: PolicyConfig, model: Any, progress: Progress) -> None:
    from harness.policy.tiny import SPECIAL
    from harness.train.warm_start import copying, supervised

    steps = policy.warm_start_copy_steps
    if steps:
        ids = range(len(SPECIAL), model.config.vocab_size)
        rows = copying.rows(steps * COPY_ROWS_A_STEP, ids, WEIGHTS_SEED)
        lesson = supervised.Lesson(steps, COPY_LEARNING_RATE, COPY_ROWS_A_STEP, 1.0, 0.0)
        supervised.fit(model, rows, lesson, WEIGHTS_SEED, progress.tell)


def _learn_to_talk(
    policy: PolicyConfig,
    model: Any,
    spoken: Sequence[Sequence[str]],
    chat: Chat,
    progress: Progress,
) -> float:
    from harness.train.warm_start import dialogues, supervised

    rows = [dialogues.to_row(dialogue, chat) for dialogue in spoken]
    steps, rate = policy.warm_start_steps, policy.warm_start_learning_rate
    lesson = supervised.Lesson(steps, rate, DIALOGUES_A_STEP, 0.4, USER_WEIGHT)
    before = policy.warm_start_copy_steps
    return supervised.fit(
        model, rows, lesson, WEIGHTS_SEED, lambda step, loss: progress.tell(before + step, loss)
    )


class Progress:
    """Says on stderr how far the warm start is: in place on a terminal, else now and then."""

    def __init__(self, steps: int) -> None:
        self._steps, self._began, self._said = steps, time.monotonic(), time.monotonic()
        self._terminal = sys.stderr.isatty()
        print("warm start: building the start model, once", file=sys.stderr, flush=True)

    def tell(self, step: int, loss: float) -> None:
        now = time.monotonic()
        if now - self._said < (0.5 if self._terminal else SAY_EVERY_S) and step < self._steps:
            return
        self._said = now
        left = (now - self._began) / step * (self._steps - step)
        text = f"warm start: step {step}/{self._steps}  loss {loss:.2f}  {left:.0f} s left"
        print(text, end="\r" if self._terminal else "\n", file=sys.stderr, flush=True)

    def done(self, text: str) -> None:
        seconds = time.monotonic() - self._began
        print(f"warm start: {text}; {seconds:.0f} s", file=sys.stderr, flush=True)


def main() -> int:
    """Build the start model of the policy given as JSON (default: the default policy).

    A second word is the process with which this one is to end.
    """
    process.keep_private()
    if len(sys.argv) > 2:
        process.die_with(int(sys.argv[2]))
    given = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    fields = {f.name for f in dataclasses.fields(PolicyConfig)}
    if not isinstance(given, dict) or given.keys() - fields:
        raise ConfigError(f"policy: keys must be among {', '.join(sorted(fields))}, got {given}")
    try:
        print(ensure(PolicyConfig(**given)))
    except HarnessError as error:
        safe_text.say(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
