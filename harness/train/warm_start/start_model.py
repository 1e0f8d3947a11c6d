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
import stat
import sys
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from harness import simulator
from harness.config.run import INTENTIONS, STRATEGIES, PolicyConfig
from harness.errors import ConfigError, HarnessError
from harness.records import atomic, cache, manifest
from harness.train.warm_start import training_rows
from harness.utils import messages, process

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
LOADED = ("model.safetensors", "tokenizer.json")
"""What the frozen judge's numbers hang on; the rest tells of sizes, versions and measurements."""
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


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
    return cache.folder() / f"start-{key(policy)}"


def _is_sound(folder: Path) -> bool:
    return os.path.lexists(folder) and problem(folder) is None


def _clear_the_place(folder: Path) -> None:
    """Say what is wrong with what lies there, and move it away."""
    if os.path.lexists(folder):
        flaw = problem(folder)
        aside = set_aside(folder)
        messages.say(f"{flaw}; it is built again, and what was there is now {aside.name}")


def key(policy: PolicyConfig) -> str:
    """16 hex digits of all that determines the start model."""
    own = {f: getattr(policy, f) for f in (*SHAPE, "max_turn_tokens")}
    users = [
        dataclasses.asdict(level) for level in training_rows.USERS
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
    spoken = training_rows.generate(wanted)
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
        seal(scratch)

    place = folder.parent.resolve() / folder.name  # a cache may be a link of its user's
    atomic.clear(place.parent, place.name)  # the lock is ours: what a killed build left behind
    atomic.write_folder(place, fill)
    progress.done(summary(card))


def _learn_to_copy(policy: PolicyConfig, model: Any, progress: Progress) -> None:
    from harness.policy.tiny import SPECIAL
    from harness.train.warm_start import supervised, training_rows

    steps = policy.warm_start_copy_steps
    if steps:
        ids = range(len(SPECIAL), model.config.vocab_size)
        rows = training_rows.rows(steps * COPY_ROWS_A_STEP, ids, WEIGHTS_SEED)
        schedule = supervised.TrainingSchedule(
            steps, COPY_LEARNING_RATE, COPY_ROWS_A_STEP, 1.0, 0.0
        )
        supervised.fit(model, rows, schedule, WEIGHTS_SEED, progress.tell)


def _learn_to_talk(
    policy: PolicyConfig,
    model: Any,
    spoken: Sequence[Sequence[str]],
    chat: Chat,
    progress: Progress,
) -> float:
    from harness.train.warm_start import supervised, training_rows

    rows = [training_rows.to_row(dialogue, chat) for dialogue in spoken]
    steps, rate = policy.warm_start_steps, policy.warm_start_learning_rate
    schedule = supervised.TrainingSchedule(steps, rate, DIALOGUES_A_STEP, 0.4, USER_WEIGHT)
    before = policy.warm_start_copy_steps
    return supervised.fit(
        model, rows, schedule, WEIGHTS_SEED, lambda step, loss: progress.tell(before + step, loss)
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


def problem(entry: Path) -> str | None:
    """What is wrong with it, as FILE: RULE, GIVEN; None where it may be used."""
    try:
        foreign = _first_foreign([entry]) or _first_foreign(sorted(entry.rglob("*")))
        differs = None if foreign else manifest.problem(entry) or _not_described(entry)
    except FileNotFoundError as error:  # another process has just set it aside
        return f"{error.filename}: must be there, and is gone"
    return f"{entry}: must be as its {manifest.NAME} says: {differs}" if differs else foreign


def _not_described(entry: Path) -> str | None:
    """A manifest that names none of what is loaded vouches for nothing."""
    described = manifest.read(entry)["files"]
    missing = [name for name in LOADED if name not in described]
    return f"{missing[0]} is not in its manifest" if missing else None


def seal(scratch: Path) -> None:
    """Make what will be an entry its user's alone to write, and write its manifest."""
    for path in [scratch, *scratch.rglob("*")]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS_MAY_WRITE)
    manifest.write(scratch)


def set_aside(entry: Path) -> Path:
    """Move away what is no sound entry; where to. Raises OSError."""
    aside = entry.with_name(f".{entry.name}.{time.time_ns()}.aside")
    entry.rename(aside)  # of a link, the link
    return aside


def sum_of(entry: Path) -> str:
    """sha256, hex, over the manifest's lines of what is loaded. Raises DataError."""
    files = manifest.read(entry)["files"]
    return manifest.digest_of({name: files[name] for name in LOADED})


def _first_foreign(paths: Iterable[Path]) -> str | None:
    """The first that somebody else could have written, or could change under our eyes."""
    for path in paths:
        found = path.lstat()
        rule = f"{path}: must be your own, and writable by nobody else"
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            return f"{rule}, got a link or what is no file"
        if found.st_uid != os.geteuid():
            return f"{rule}, got one of user {found.st_uid}"
        if found.st_mode & OTHERS_MAY_WRITE:
            return f"{rule}, got mode {stat.S_IMODE(found.st_mode):o}"
    return None


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
        messages.say(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
