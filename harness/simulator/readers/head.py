"""A linear head: polarity and strategy of a sentence from a language model's hidden states.

It is two multinomial logistic regressions over standardised features, in an .npz file.
`benchmarks/lm_reader.py` fits a head, which is valid only for the model that it was fitted on.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import ConfigError
from harness.records import plain_file
from harness.simulator.scripted.polarity import POLARITIES
from harness.simulator.scripted.recognition import KINDS

SHIPPED = Path(__file__).with_name("smollm2_135m_instruct.npz")
"""The head for SmolLM2-135M-Instruct."""
WORD_FEATURES = len(POLARITIES) + len(KINDS)
"""Number of the lexical reader's log-probabilities, which are the last features."""
FLOOR, DECIMALS = 2e-4, 4
"""Least probability of a polarity, and its decimals. The sixth decimal of a model's output depends
on the other sentences in the batch."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReaderModelIdentity:
    """The identity by which a head recognises its model."""

    architecture: str
    hidden_size: int
    layers: int
    weights: str
    """Digest of some weights and of the tokenizer."""

    def __str__(self) -> str:
        return (
            f"{self.architecture} of {self.layers} layers, hidden size {self.hidden_size}, "
            f"weights {self.weights}"
        )


@dataclass(frozen=True)
class Extraction:
    """How a sentence is presented to a model, and which hidden states are used."""

    before: str
    """Text before the sentence."""
    after: str
    mean_layers: tuple[int, ...]
    """Layers, counted from 1, whose mean state over the sentence is used."""
    last_layers: tuple[int, ...]
    """Layers whose state at the last token is used."""
    most_tokens: int
    """Most tokens of a sentence; the rest is dropped."""

    @property
    def last_layer(self) -> int:
        """The last layer that is needed."""
        return max((*self.mean_layers, *self.last_layers))


@dataclass(frozen=True, eq=False)
class ClassifierHead:
    """A fitted head."""

    model: ReaderModelIdentity
    extraction: Extraction
    centre: Floats
    """Mean of each feature, shape (features,)."""
    scale: Floats
    """Standard deviation of each feature, shape (features,)."""
    polarity: Floats
    """Weights, shape (features + 1, POLARITIES); the intercept is last."""
    strategy: Floats
    """Weights, shape (features + 1, KINDS); the intercept is last."""

    def polarities(self, features: Floats) -> Floats:
        """Return P(polarity) of each sentence, shape (sentences, POLARITIES)."""
        chances = _softmax(self._standardise(features) @ self.polarity)
        return np.round(FLOOR + (1 - len(POLARITIES) * FLOOR) * chances, DECIMALS)

    def strategies(self, features: Floats) -> Floats:
        """Return P(kind) of each sentence, shape (sentences, KINDS)."""
        return _softmax(self._standardise(features) @ self.strategy)

    def _standardise(self, features: Floats) -> Floats:
        values = (features - self.centre) / self.scale
        return np.concatenate([values, np.ones((len(values), 1))], axis=1)

    def to_bytes(self) -> bytes:
        """Return the content of the file, with weights in half precision."""
        metadata = {"model": asdict(self.model), "extraction": asdict(self.extraction)}
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        half = {"polarity", "strategy"}
        stored = {n: a.astype(np.float16 if n in half else np.float32) for n, a in arrays.items()}
        content = io.BytesIO()
        np.savez_compressed(content, about=np.array(json.dumps(metadata)), **stored)
        return content.getvalue()

    @property
    def digest(self) -> str:
        """12 hex digits of a hash of the head."""
        hasher = hashlib.sha256(json.dumps([asdict(self.model), asdict(self.extraction)]).encode())
        for name in _ARRAYS:
            hasher.update(np.ascontiguousarray(getattr(self, name), np.float32).tobytes())
        return hasher.hexdigest()[:12]


_ARRAYS = tuple(
    field.name for field in fields(ClassifierHead) if field.name not in ("model", "extraction")
)


def read(path: Path) -> ClassifierHead:
    """Return the head in a file. Raises ConfigError for a file that cannot be used."""
    try:
        with (
            open(path, "rb", opener=plain_file.opener) as file,
            np.load(file, allow_pickle=False) as archive,
        ):
            metadata = json.loads(str(archive["about"]))
            arrays = {name: np.asarray(archive[name], np.float64) for name in _ARRAYS}
        head = ClassifierHead(
            ReaderModelIdentity(**metadata["model"]), _extraction(metadata["extraction"]), **arrays
        )
        _check(head)
    except plain_file.ARCHIVE_ERRORS as error:
        rule = "must be a file that benchmarks/lm_reader.py has written"
        why = str(error).partition(". ")[0].partition("\n")[0]  # without numpy's advice on pickles
        raise ConfigError(f"simulator.reader_head: {rule}, got {str(path)!r}: {why}") from error
    return head


def expanded(key: str, name: str) -> Path:
    """Return a path with `~` expanded. Raises ConfigError, naming `key`, if that has no home."""
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        rule = "must be a path that can be found, but the home folder of ~ is not known"
        raise ConfigError(f"{key}: {rule}; got {name!r}") from error


def _extraction(values: Mapping[str, Any]) -> Extraction:
    layers = {name: tuple(values[name]) for name in ("mean_layers", "last_layers")}
    return Extraction(**{**values, **layers})


def _check(head: ClassifierHead) -> None:
    """Raise ValueError for arrays of a wrong shape or with values that are not finite."""
    layer_count = len(head.extraction.mean_layers) + len(head.extraction.last_layers)
    features = layer_count * head.model.hidden_size + WORD_FEATURES
    shapes = {"centre": (features,), "scale": (features,),
              "polarity": (features + 1, len(POLARITIES)),
              "strategy": (features + 1, len(KINDS))}  # fmt: skip
    for name, shape in shapes.items():
        values = getattr(head, name)
        if values.shape != shape or not np.isfinite(values).all():
            raise ValueError(f"{name} is of shape {values.shape} and should be of {shape}")


def refuse_another(head: ClassifierHead, path: Path, model: ReaderModelIdentity, name: str) -> None:
    """Raise ConfigError if a head was fitted on another model than `model`, named `name`."""
    if head.model != model:
        raise ConfigError(
            f"simulator.reader_model: must be the model that the head {path.name} was learnt on "
            f"({head.model}), or simulator.reader_head must name a head for it, as "
            f"benchmarks/lm_reader.py writes one; got {name!r} ({model})"
        )


def _softmax(scores: Floats) -> Floats:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances: Floats = odds / odds.sum(axis=1, keepdims=True)
    return chances
