"""The start model of policy=tiny: built once from the phrase grammar, then taken from a cache.

The cache is a user folder ($HARNESS_CACHE, else the XDG cache). An entry's name is a hash of
everything that determines it. Entries are created atomically by a rename, and never by two runs at
once. Before each use an entry is checked: if it differs from its manifest, or another user could
have written it, it is reported, set aside and built again.
`python -m harness.train.warm_start.start_model [POLICY_AS_JSON]` builds it ahead of a sweep.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import simulator
from harness.config.run import INTENTIONS, STRATEGIES, PolicyConfig
from harness.errors import ConfigError, HarnessError
from harness.records import atomic, cache_entry, user_folders
from harness.train.warm_start import training_rows
from harness.train.warm_start.training_rows import PLAIN
from harness.utils import process, safe_text

if TYPE_CHECKING:
    from harness.policy.chat import Chat
    from harness.train.rollout.conversation import Conversation

MOST_DIALOGUES = 3600
"""Most dialogues that are generated; a longer warm start repeats them."""
DIALOGUES_A_STEP = 8
CONSTANT = 0.3
"""Share of the steps after which the rate falls, in the second part of the training."""
WEIGHTS_SEED = 1
SAY_EVERY_S = 10.0
VERSION = 3
"""Version of the training, increased whenever the same policy gets different weights."""
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")
LOADED = ("model.safetensors", "tokenizer.json")
"""The files that determine the frozen start model's scores."""


def ensure(policy: PolicyConfig) -> Path:
    """Return the folder of `policy`'s start model (weights, tokenizer, card.json), built if
    necessary.

    Raises StorageError if the cache cannot be written.
    """
    folder = entry(policy)
    return cache_entry.ensure(folder, LOADED, lambda: _build(policy, folder))


def entry(policy: PolicyConfig) -> Path:
    """Return the folder of `policy`'s start model, whether built or not."""
    return user_folders.cache() / f"start-{key(policy)}"


def is_built(policy: PolicyConfig) -> bool:
    """Return whether the start model is in the cache and matches its manifest."""
    return cache_entry.is_sound(entry(policy), LOADED)


def key(policy: PolicyConfig) -> str:
    """Return a hash, 16 hex digits, of everything that determines the start model."""
    fields = {f: getattr(policy, f) for f in (*SHAPE, "max_turn_tokens")}
    fields |= {f: getattr(policy, f) for f in TOLD if getattr(policy, f) != getattr(PLAIN, f)}
    users = [level.knobs() for level in training_rows.USERS]  # with the defaults of config.py
    meaning = [VERSION, simulator.VERSION]
    content = [fields, users, STRATEGIES, INTENTIONS, meaning]
    digest = hashlib.sha256(json.dumps(content).encode())
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
TOLD = ("warm_start_strategies", "warm_start_retold")
"""Keys of `policy` that determine the training texts. They enter the hash only if they differ from
PLAIN, so that models built before these keys existed keep their names."""


def _build(policy: PolicyConfig, folder: Path) -> None:
    """Generate texts, train and measure the model, and put it into the cache."""
    from harness.policy import tiny
    from harness.policy.chat import chat_of
    from harness.train.warm_start import induction, supervised
    from harness.train.warm_start.start_card import measure, summary

    progress = Progress(policy.warm_start_copy_steps + policy.warm_start_steps)
    dialogues = min(MOST_DIALOGUES, policy.warm_start_steps * DIALOGUES_A_STEP)
    count, width = -(-dialogues // training_rows.TELLINGS), policy.warm_start_strategies
    # texts of all strategies: one vocabulary, so that H can be compared
    general = training_rows.conversations(count)
    conversations = general if width == "all" else training_rows.conversations(count, width)
    vocabulary_texts = (text for c in general for text in training_rows.texts(c))
    tokenizer = tiny.build_tokenizer(vocabulary_texts, policy.vocabulary)
    chat = chat_of(tokenizer)
    with supervised.one_thread():
        model = tiny.build_model(policy, tokenizer, WEIGHTS_SEED)
        induction.put_in(model, WEIGHTS_SEED)
        loss = _train(policy, model, conversations, chat, progress)
        card = {"loss_nats": loss, **measure(model.eval(), chat, policy)}

    def fill(scratch: Path) -> None:
        tiny.save(scratch, model, tokenizer)
        atomic.write_json(scratch / "card.json", card)

    cache_entry.put(folder, fill)
    progress.done(summary(card))


def _train(
    policy: PolicyConfig,
    model: Any,
    conversations: Sequence[Conversation],
    chat: Chat,
    progress: Progress,
) -> float:
    """Train first to repeat the user's words, then to converse; return the last loss in nats."""
    from harness.train.warm_start import supervised, training_rows

    rate, steps_done, loss = policy.warm_start_learning_rate, 0, 0.0
    parts = (policy.warm_start_copy_steps, True), (policy.warm_start_steps, False)
    for steps, is_copying in parts:
        if steps:
            count = min(MOST_DIALOGUES, steps * DIALOGUES_A_STEP)
            dialogues = training_rows.retell(conversations, count, is_copying, policy)
            rows = [training_rows.to_row(dialogue, chat) for dialogue in dialogues]
            constant = 1.0 if is_copying else CONSTANT
            schedule = supervised.TrainingSchedule(steps, rate, DIALOGUES_A_STEP, constant)
            tell = progress.after(steps_done)
            loss = supervised.fit(model, rows, schedule, WEIGHTS_SEED, tell)
            steps_done += steps
    return loss


class Progress:
    """Progress of the warm start on stderr: in place on a terminal, else every SAY_EVERY_S."""

    def __init__(self, steps: int) -> None:
        self._steps, self._began, self._reported_at = steps, time.monotonic(), time.monotonic()
        self._terminal = sys.stderr.isatty()
        print("warm start: building the start model, once", file=sys.stderr, flush=True)

    def after(self, offset: int) -> Callable[[int, float], None]:
        """Return `tell` for a training that is preceded by `offset` steps."""
        return lambda step, loss: self.tell(offset + step, loss)

    def tell(self, step: int, loss: float) -> None:
        now = time.monotonic()
        interval_s = 0.5 if self._terminal else SAY_EVERY_S
        if now - self._reported_at < interval_s and step < self._steps:
            return
        self._reported_at = now
        remaining_s = (now - self._began) / step * (self._steps - step)
        text = f"warm start: step {step}/{self._steps}  loss {loss:.2f}  {remaining_s:.0f} s left"
        print(text, end="\r" if self._terminal else "\n", file=sys.stderr, flush=True)

    def done(self, text: str) -> None:
        seconds = time.monotonic() - self._began
        print(f"warm start: {text}; {seconds:.0f} s", file=sys.stderr, flush=True)


def problem(entry: Path) -> str | None:
    """Return the fault of a cache entry as FILE: RULE, GIVEN; None if it may be used."""
    return cache_entry.problem(entry, LOADED)


def sum_of(entry: Path) -> str:
    """Return the hex sha256 over the manifest's lines of LOADED. Raises DataError."""
    return cache_entry.sum_of(entry, LOADED)


def main() -> int:
    """Build the start model of the policy given as JSON (default: the default policy).

    The optional second argument is the id of a process with which this one ends.
    """
    process.keep_private()
    if len(sys.argv) > 2:
        process.die_with(int(sys.argv[2]))
    values = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    fields = {f.name for f in dataclasses.fields(PolicyConfig)}
    if not isinstance(values, dict) or values.keys() - fields:
        raise ConfigError(f"policy: keys must be among {', '.join(sorted(fields))}, got {values}")
    try:
        print(ensure(PolicyConfig(**values)))
    except HarnessError as error:
        safe_text.say(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
