"""Hidden states of sentences in a causal language model, on the CPU in single precision."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging

from harness.embedded import models as embedded
from harness.errors import ConfigError
from harness.simulator.readers.head import Extraction, Floats, ReaderModelIdentity, expanded
from harness.utils.terminal import shorten_middle

BATCH = 64
DIGESTED_ROWS = 64
"""Rows of the embeddings and of each layer's first matrix that identify the weights."""
PROBE = "Tell me: what's 2 much 4 you, na\u00efve \U0001f49b?"
"""A text whose tokens identify the tokenizer."""


class SentenceStates:
    """A language model that gives hidden states."""

    def __init__(self, name: str, dtype: torch.dtype = torch.float32) -> None:
        """Load a model from a folder, an embedded one, or by name from the hub. Raises ConfigError.

        `dtype` is the type of weights and states. A reader uses single precision everywhere.
        """
        path = expanded("simulator.reader_model", name)
        if name in embedded.MODELS:
            path = embedded.ensure(name, "simulator.reader_model")
        folder = path if path.is_dir() else name
        with _one_line_errors(name):
            options = {"trust_remote_code": False, "local_files_only": path.is_dir()}
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, **options)
            with _silence_progress():
                model, report = AutoModel.from_pretrained(
                    folder,
                    dtype=dtype,
                    use_safetensors=True,
                    output_loading_info=True,
                    **options,
                )
            _refuse_missing_weights(report)
            self._model: Any = model.eval().requires_grad_(False)
            self._layers = _layers(self._model)
        self.identity = _identity(self._model, self._layers, self._tokens(PROBE))
        self._kept: dict[int, torch.Tensor] = {}
        self._watched: Extraction | None = None

    def of(self, sentences: Sequence[str], extraction: Extraction) -> Floats:
        """Return the states of each sentence, shape (sentences, layers * hidden size)."""
        self._watch(extraction)
        tokens = [self._tokens(f" {sentence}")[: extraction.most_tokens] for sentence in sentences]
        before, after = self._tokens(extraction.before), self._tokens(extraction.after)
        order = sorted(range(len(sentences)), key=lambda n: len(tokens[n]))
        layer_count = len(extraction.mean_layers) + len(extraction.last_layers)
        states = np.zeros((len(sentences), layer_count * self.identity.hidden_size))
        for start in range(0, len(order), BATCH):
            indices = order[start : start + BATCH]
            states[indices] = self._batch([tokens[n] for n in indices], before, after, extraction)
        return states

    def _batch(
        self,
        sentences: Sequence[Sequence[int]],
        before: Sequence[int],
        after: Sequence[int],
        extraction: Extraction,
    ) -> Floats:
        """Return the states of one batch. Padding is on the right, where no token attends to it."""
        rows = [[*before, *tokens, *after] for tokens in sentences]
        ends = torch.tensor([len(row) for row in rows])
        width = int(ends.max())
        pad = self._tokenizer.pad_token_id or 0
        ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
        positions = torch.arange(width)
        start, stops = len(before), ends - len(after)
        mask = (positions >= start) & (positions < stops[:, None])
        with torch.inference_mode():
            self._model(
                input_ids=ids,
                attention_mask=(positions < ends[:, None]).long(),
                use_cache=False,
            )
            weights = (mask / mask.sum(1, keepdim=True).clamp(min=1))[..., None]
            parts = [(self._kept[n] * weights).sum(1) for n in extraction.mean_layers]
            parts += [
                self._kept[n][torch.arange(len(rows)), ends - 1] for n in extraction.last_layers
            ]
            self._kept.clear()
            return np.asarray(torch.cat(parts, 1).double().numpy())

    def _watch(self, extraction: Extraction) -> None:
        """Remove the layers after the last one needed, and keep the states of extracted ones."""
        if self._watched is not None:
            if self._watched != extraction:
                raise ValueError("a model that is cut is read in one way")
            return
        del self._layers[extraction.last_layer :]
        for number in {*extraction.mean_layers, *extraction.last_layers}:
            self._layers[number - 1].register_forward_hook(self._state_hook(number))
        self._watched = extraction

    def _state_hook(self, number: int) -> Any:
        def keep(_module: Any, _inputs: Any, output: Any) -> None:
            states = output if isinstance(output, torch.Tensor) else output[0]
            self._kept[number] = states.float()

        return keep

    def _tokens(self, text: str) -> list[int]:
        if not text:
            return []
        valid_text = text.encode("utf-8", "replace").decode("utf-8")  # replaces lone surrogates
        return list(self._tokenizer(valid_text, add_special_tokens=False)["input_ids"])


def _layers(model: Any) -> Any:
    """Return the model's list of layers. Raises ValueError if it has none."""
    count = model.config.num_hidden_layers
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == count:
            return module
    raise ValueError(f"a model of {count} layers in one list is needed")


def _refuse_missing_weights(report: Any) -> None:
    """Raise ValueError if weights are missing, which transformers initialises at random."""
    missing = sorted([*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])])
    if missing:
        raise ValueError(f"no weights that fit for {len(missing)} tensors, {missing[0]} among them")


def _identity(model: Any, layers: Any, tokens: Sequence[int]) -> ReaderModelIdentity:
    digest = hashlib.sha256(str(list(tokens)).encode())
    for part in (model.get_input_embeddings(), *layers):
        matrix = next(p for p in part.parameters() if p.dim() == 2)
        digest.update(matrix[:DIGESTED_ROWS].float().contiguous().numpy().tobytes())
    config = model.config
    return ReaderModelIdentity(
        str(config.model_type), config.hidden_size, len(layers), digest.hexdigest()[:12]
    )


@contextmanager
def _silence_progress() -> Iterator[None]:
    """Silence the progress bar of transformers and its list of unused weights."""
    shows_progress, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shows_progress:
            logging.enable_progress_bar()


@contextmanager
def _one_line_errors(name: str) -> Iterator[None]:
    """Convert errors of the libraries about a model's files into a one-line ConfigError."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(
            "simulator.reader_model: must be a folder or a name on the hub of a causal language "
            "model with safetensors that transformers loads without code of others, got "
            f"{name!r}: {shorten_middle(why.partition('. ')[0], 300)}"
        ) from error
