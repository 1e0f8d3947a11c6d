"""From what is said to token ids and back, by a tokenizer's own chat template.

A policy's turn is never encoded from text: its ids are kept as they were sampled. Only the user's
words are encoded, and what the template puts around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_HERE, _THERE = "\x02", "\x03"
"""Stand for the policy's and the user's words while the template is taken apart."""


@dataclass(frozen=True)
class Chat:
    """How one tokenizer frames a conversation."""

    tokenizer: Any
    end: int
    """Id of the token that ends a policy turn."""
    pad: int
    first: tuple[tuple[int, ...], tuple[int, ...]]
    """Ids before and after the user's words at the opening, up to where the policy speaks."""
    later: tuple[tuple[int, ...], tuple[int, ...]]
    """The same after a policy turn and its end token."""

    def opening(self, text: str) -> list[int]:
        """Ids of the user's first words."""
        return [*self.first[0], *self.words(text), *self.first[1]]

    def following(self, text: str) -> list[int]:
        """Ids of the user's answer to a policy turn."""
        return [*self.later[0], *self.words(text), *self.later[1]]

    def prefix(self, turns: Sequence[tuple[str, str]]) -> list[int]:
        """Ids of (speaker, text) turns, user first and last, up to where the policy speaks."""
        ids: list[int] = []
        for speaker, text in turns:
            if speaker == "policy":
                ids += [*self.words(text), self.end]
            else:
                ids += self.following(text) if ids else self.opening(text)
        return ids

    def words(self, text: str) -> list[int]:
        """Ids of plain text; what looks like a special token is spelled out."""
        ids: list[int] = self.tokenizer.encode(
            text, add_special_tokens=False, split_special_tokens=True
        )
        return ids

    def text(self, ids: Sequence[int]) -> str:
        """What the policy said, without special tokens."""
        said: str = self.tokenizer.decode(ids, skip_special_tokens=True)
        return said.strip()


def chat_of(tokenizer: Any) -> Chat:
    """Take a tokenizer's chat template apart.

    Raises ValueError if the template does not end a policy turn by the tokenizer's end token.
    """
    ask = {"role": "user", "content": _THERE}
    answer = {"role": "assistant", "content": _HERE}
    first = _render(tokenizer, [ask])
    both = _render(tokenizer, [ask, answer, ask])
    after = both[both.index(_HERE) + len(_HERE) :]
    if not after.startswith(tokenizer.eos_token):
        raise ValueError(
            f"chat template: a policy turn must end with {tokenizer.eos_token!r}, "
            f"got {after[:20]!r}"
        )
    return Chat(
        tokenizer,
        end=tokenizer.eos_token_id,
        pad=tokenizer.pad_token_id,
        first=_sides(tokenizer, first),
        later=_sides(tokenizer, after.removeprefix(tokenizer.eos_token)),
    )


def _render(tokenizer: Any, messages: list[dict[str, str]]) -> str:
    text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return text


def _sides(tokenizer: Any, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    before, after = text.split(_THERE)
    return (
        tuple(tokenizer.encode(before, add_special_tokens=False)),
        tuple(tokenizer.encode(after, add_special_tokens=False)),
    )
