"""Sampling from a causal language model, turn by turn, in many conversations at once.

It works with any causal model of the transformers library. Keys and values stay in a cache from
turn to turn, and a conversation that has finished its turn leaves the batch. Ids are kept as
sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor

from harness.train.engines.ragged_cache import RaggedCache
from harness.train.engines.scoring import chunks, entropies, head_logits, pad_rows
from harness.utils.pending import Pending, ready

FEWEST_SHARED = 64
"""Smallest length of a common prefix that is read only once. Less would gain little, and runs with
a short prompt stay bit-identical to older versions."""


@dataclass(frozen=True, slots=True)
class SampledTurn:
    """One turn of the policy as sampled; it was truncated if its last id is not the end token."""

    ids: list[int] = field(default_factory=list)
    logp: list[float] = field(default_factory=list)
    """Log-probability of each id at the sampling temperature."""
    entropy_nats: list[float] = field(default_factory=list)
    """Entropy of the distribution each id was drawn from; empty unless recorded."""


class CachedModel:
    """A model with a cache, which reads conversations piece by piece."""

    def __init__(self, model: Any, count: int) -> None:
        self.device = model.device
        self._decoder, self._head = model.get_decoder(), model.get_output_embeddings()
        self._cache = RaggedCache(model.config.num_hidden_layers, count, self.device)
        self._adds_mask = getattr(model.config, "_attn_implementation", "sdpa") == "eager"
        self._live = count

    @property
    def order(self) -> list[int]:
        """The live conversations, in the order of the rows of `read` and `step`."""
        return self._cache.slots.conversation[: self._live]

    def attend(self, live: Sequence[int]) -> None:
        """Restrict `read` and `step` to the conversations `live`; the others keep their cache."""
        self._cache.lead(live)
        self._live = len(live)

    def rewind(self, lengths: Mapping[int, int]) -> None:
        """Truncate each conversation in `lengths` to that many tokens."""
        self._cache.slots.rewind(lengths)

    @torch.no_grad()
    def read(self, pieces: Sequence[Sequence[int]]) -> Tensor:
        """Return the hidden states after each new token, shape (live, longest piece, hidden).

        In the first call a prefix that all pieces share, such as a system prompt, is read once.
        """
        shared = 0 if self._cache.slots.length.any() else _shared_prefix_length(pieces)
        if not shared:
            return self._read(pieces)
        self._cache.slots.aim(1, shared)
        start = self._states(torch.tensor([pieces[0][:shared]], device=self.device))
        self._cache.spread(self._live, shared)
        remainder = self._read([piece[shared:] for piece in pieces])
        return torch.cat([start.expand(len(pieces), -1, -1), remainder], dim=1)

    def _read(self, pieces: Sequence[Sequence[int]]) -> Tensor:
        ids = pad_rows(pieces, fill=0).to(self.device)
        self._cache.slots.aim(self._live, torch.tensor([len(p) for p in pieces]).to(self.device))
        return self._states(ids)

    @torch.no_grad()
    def step(self, tokens: Tensor) -> Tensor:
        """Return the hidden states after one more token in each live conversation, shape (live,
        hidden).
        """
        self._cache.slots.aim(self._live, 1)
        return self._states(tokens[:, None])[:, 0]

    def pieces(self, states: Tensor) -> Sequence[slice]:
        """Return slices of `states`, shape (tokens, hidden), whose logits fit into memory."""
        return chunks(states, self._head)

    @torch.no_grad()
    def logits(self, states: Tensor) -> Tensor:
        """Return the fp32 logits of the next token at `states`."""
        return head_logits(self._head, states)

    def _states(self, ids: Tensor) -> Tensor:
        slots = self._cache.slots
        out = self._decoder(
            input_ids=ids,
            attention_mask=additive_mask(slots.mask()) if self._adds_mask else slots.mask(),
            position_ids=slots.positions,
            past_key_values=self._cache,
            use_cache=True,
        )
        states: Tensor = out.last_hidden_state
        return states


def _shared_prefix_length(pieces: Sequence[Sequence[int]]) -> int:
    """Return the length of the pieces' common prefix, 0 below FEWEST_SHARED; each keeps a token."""
    equal_columns = takewhile(lambda column: len(set(column)) == 1, zip(*pieces, strict=False))
    common = min(len(list(equal_columns)), min(map(len, pieces)) - 1)
    return common if len(pieces) > 1 and common >= FEWEST_SHARED else 0


def additive_mask(mask: Tensor) -> Tensor:
    """Return the additive mask of eager attention: 0 where a token may attend."""
    floats = torch.zeros(mask.shape, dtype=torch.float32, device=mask.device)
    return floats.masked_fill_(~mask, torch.finfo(torch.float32).min)


class Sampler:
    """Draws turns from a model; a conversation's draws depend only on its own uniforms."""

    def __init__(
        self,
        model: Any,
        count: int,
        end: int,
        temperature: float,
        note_entropies: bool = False,
        before_token: Callable[[], None] = lambda: None,
    ) -> None:
        self._before_token = before_token
        self._reader = CachedModel(model, count)
        self._end, self._temperature, self._note_entropies = end, temperature, note_entropies
        self._unread: dict[int, list[int]] = {i: [] for i in range(count)}

    def begin_turn(
        self, live: Sequence[int], new_ids: Sequence[Sequence[int]], uniforms: Tensor
    ) -> Pending[list[SampledTurn]]:
        """Draw as `speak` does; the result is ready on return."""
        return ready(self.speak(live, new_ids, uniforms))

    def speak(
        self, live: Sequence[int], new_ids: Sequence[Sequence[int]], uniforms: Tensor
    ) -> list[SampledTurn]:
        """Draw one turn in each conversation of `live`.

        `new_ids`: for each conversation; `uniforms`: shape (live, token limit), fp64, [0, 1).
        """
        turns = {i: SampledTurn() for i in live}
        uniform = dict(zip(live, uniforms.to(self._reader.device), strict=True))
        states = self._read_new(live, new_ids)
        for k in range(uniforms.shape[1]):
            self._before_token()
            order = self._reader.order
            u = torch.stack([uniform[i][k] for i in order])
            tokens, logp, entropy = self._draw(self._reader.logits(states), u)
            for i, token, value in zip(order, tokens.tolist(), logp.tolist(), strict=True):
                turns[i].ids.append(token)
                turns[i].logp.append(value)
            for i, value in zip(order, entropy, strict=self._note_entropies):
                turns[i].entropy_nats.append(value)
            unfinished = [i for i in order if turns[i].ids[-1] != self._end]
            if not unfinished or k + 1 == uniforms.shape[1]:
                break
            if len(unfinished) < len(order):
                self._reader.attend(unfinished)
                last = [turns[i].ids[-1] for i in self._reader.order]
                tokens = torch.tensor(last, device=tokens.device)
            states = self._reader.step(tokens)
        for i in live:
            is_cut = turns[i].ids[-1] != self._end
            self._unread[i] = [turns[i].ids[-1], self._end] if is_cut else [self._end]
        return [turns[i] for i in live]

    def rewind(self, lengths: Mapping[int, int]) -> None:
        """Truncate each conversation in `lengths` to that many of its first ids.

        At most the ids before the last turn can be kept. The next `speak` is given all that follow.
        """
        self._reader.rewind(lengths)
        self._unread |= {i: [] for i in lengths}

    def _read_new(self, live: Sequence[int], new_ids: Sequence[Sequence[int]]) -> Tensor:
        """Read the rest of the last turn and the new ids; return the states to draw from."""
        self._reader.attend(live)
        unread = {i: [*self._unread[i], *ids] for i, ids in zip(live, new_ids, strict=True)}
        pieces = [unread[i] for i in self._reader.order]
        states = self._reader.read(pieces)
        last = torch.tensor([len(piece) - 1 for piece in pieces], device=states.device)
        return states[torch.arange(len(pieces), device=states.device), last]

    def _draw(self, logits: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor, list[float]]:
        """Draw by the inverse of the cumulative distribution, with one uniform per row.

        Return the tokens, their log-probabilities and, if recorded, the entropies.
        """
        logp = torch.log_softmax(logits / self._temperature, dim=-1)
        entropy = entropies(logp).tolist() if self._note_entropies else []
        cumulative = logp.double().exp_().cumsum_(dim=-1)
        targets = uniform[:, None] * cumulative[:, -1:]
        tokens = torch.searchsorted(cumulative, targets, right=True).clamp_(
            max=logits.shape[-1] - 1
        )
        return tokens[:, 0], logp.gather(-1, tokens)[:, 0], entropy
