"""Converts turns to token ids and back, with the tokenizer's own chat template.

A sampled policy turn is not re-encoded from text: its ids are kept. Only the user's words and the
template's text around them are encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2.exceptions import TemplateError

from harness.errors import ConfigError

_HERE, _THERE = "\x02", "\x03"
"""Placeholders for the policy's and the user's words, for splitting the template."""
_EXAMPLE = "It is about my exam. I failed it twice."
DATE = "1 Jan 2026"
"""A fixed date for templates that include the day, so that a run resumed later has the same ids."""
_WHERE = "policy.model: chat template"


@dataclass(frozen=True)
class Chat:
    """The token ids that a tokenizer's chat template puts around the turns of a conversation."""

    tokenizer: Any
    end: int
    """Id of the token that ends a policy turn."""
    pad: int
    first: tuple[tuple[int, ...], tuple[int, ...]]
    """Ids before and after the user's words at the opening, up to the policy's turn."""
    later: tuple[tuple[int, ...], tuple[int, ...]]
    """Ids before and after the user's words after a policy turn and its end token."""
    thought: int | None = None
    """Id of the token that ends thinking; None for a policy that does not think."""

    def opening(self, text: str) -> list[int]:
        """Return the ids of the user's first message, up to the policy's turn."""
        return [*self.first[0], *self.words(text), *self.first[1]]

    def following(self, text: str) -> list[int]:
        """Return the ids of the user's answer to a policy turn, up to the next one."""
        return [*self.later[0], *self.words(text), *self.later[1]]

    def prefix(self, turns: Sequence[tuple[str, str]]) -> list[int]:
        """Return the ids of (speaker, text) turns, user first and last, up to the policy's turn."""
        ids: list[int] = []
        for speaker, text in turns:
            if speaker == "policy":
                ids += [*self.words(text), self.end]
            else:
                ids += self.following(text) if ids else self.opening(text)
        return ids

    def words(self, text: str) -> list[int]:
        """Return the ids of plain text; names of special tokens are encoded as ordinary text."""
        ids: list[int] = self.tokenizer.encode(
            text, add_special_tokens=False, split_special_tokens=True
        )
        return ids

    def placed(self, text: str) -> list[tuple[int, int, int]]:
        """Return (id, start, end) for each id of `words`, with its position in the text."""
        encoding = self.tokenizer(
            text,
            add_special_tokens=False,
            split_special_tokens=True,
            return_offsets_mapping=True,
        )
        offsets = encoding["offset_mapping"]
        pairs = zip(encoding["input_ids"], offsets, strict=True)
        return [(token, start, end) for token, (start, end) in pairs]

    def text(self, ids: Sequence[int]) -> str:
        """Return the policy's reply as text, without special tokens and thinking."""
        text: str = self.tokenizer.decode(self.reply(ids), skip_special_tokens=True)
        return text.strip()

    def reply(self, ids: Sequence[int]) -> Sequence[int]:
        """Return the ids after the last end-of-thinking token; empty if thinking never ended."""
        if self.thought is None:
            return ids
        ends = [n for n, token in enumerate(ids) if token == self.thought]
        return ids[ends[-1] + 1 :] if ends else []


def chat_of(tokenizer: Any, system: str = "", thinking: bool = False) -> Chat:
    """Split a tokenizer's chat template into its parts; `system` is the system prompt.

    Raises ConfigError if a conversation encoded piece by piece differs from the template applied to
    the whole, because the policy would be trained on ids that do not occur elsewhere.
    """
    frame = _Template(tokenizer, system, thinking)
    user_turn = {"role": "user", "content": _THERE}
    policy_turn = {"role": "assistant", "content": _HERE}
    first = frame.render([user_turn])
    exchange = frame.render([user_turn, policy_turn, user_turn])
    if exchange.count(_HERE) != 1 or exchange.count(_THERE) != 2:
        shown = exchange.replace(_THERE, "USER").replace(_HERE, "POLICY")[:200]
        raise ConfigError(
            f"{_WHERE}: what user, policy and user say in turn must each appear in it once, "
            f"got {shown!r}"
        )
    before, after = exchange.split(_HERE)
    if not first.startswith(before):
        raise ConfigError(
            f"{_WHERE}: what stands before a policy turn must not change once the turn is over, "
            f"got {first[-40:]!r} and then {before[-40:]!r}"
        )
    if not after.startswith(tokenizer.eos_token):
        raise ConfigError(
            f"{_WHERE}: a policy turn must end with {tokenizer.eos_token!r}, got {after[:20]!r}"
        )
    chat = Chat(
        tokenizer,
        end=tokenizer.eos_token_id,
        pad=tokenizer.pad_token_id,
        first=frame.sides(first),
        later=frame.sides(after.removeprefix(tokenizer.eos_token)),
        thought=_end_of_thinking(tokenizer) if thinking else None,
    )
    _check_joints(frame, chat)
    return chat


@dataclass(frozen=True)
class _Template:
    tokenizer: Any
    system: str
    thinking: bool

    def render(self, messages: list[dict[str, str]]) -> str:
        system_turn = [{"role": "system", "content": self.system}] if self.system else []
        try:
            text: str = self.tokenizer.apply_chat_template(
                [*system_turn, *messages],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=self.thinking,
                date_string=DATE,
            )
        except TemplateError as error:
            raise ConfigError(
                f"{_WHERE}: must take a {'system message, then ' * bool(system_turn)}user and "
                f"assistant turns, got {error}"
            ) from error
        return text

    def sides(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        before, after = text.split(_THERE)
        return tuple(self.ids(before)), tuple(self.ids(after))

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids


def _check_joints(frame: _Template, chat: Chat) -> None:
    """Raise ConfigError unless the concatenated ids of the pieces equal those of the whole text."""
    whole_ids = frame.ids(frame.render([{"role": "user", "content": _EXAMPLE}]))
    pieces = chat.opening(_EXAMPLE)
    if whole_ids != pieces:
        index = next(
            (n for n, (a, b) in enumerate(zip(whole_ids, pieces, strict=False)) if a != b), -1
        )
        inside, alone = (frame.tokenizer.decode(ids) for ids in (whole_ids, pieces))
        raise ConfigError(
            f"{_WHERE}: the user's words must be cut into the same tokens inside the template and "
            f"alone, got token {index} different, of {inside!r} and {alone!r}"
        )


def _end_of_thinking(tokenizer: Any) -> int:
    ids: list[int] = tokenizer.encode("</think>", add_special_tokens=False)
    if len(ids) != 1:
        raise ConfigError(
            f"policy.thinking: the tokenizer must have one token for '</think>', got {len(ids)}"
        )
    return ids[0]
