"""The language-model reader: a linear head on hidden states and the lexical reader's output."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import ConfigError
from harness.simulator.readers import head as heads
from harness.simulator.readers.head import ClassifierHead, Floats
from harness.simulator.scripted import polarity, recognition
from harness.simulator.scripted.polarity import Polarity
from harness.simulator.scripted.recognition import KINDS, SURE, strategy_of
from harness.simulator.scripted.sentence_features import extract_features
from harness.simulator.scripted.sentence_reader import SentenceLabel
from harness.simulator.scripted.weights import regression
from harness.utils import installation
from harness.utils.remembered import ValueCache

if TYPE_CHECKING:
    from harness.simulator.readers.states import SentenceStates

NEEDS = ("torch", "transformers")
LEAST_CHANCE = 1e-6


@cache
def lm_reader(model: str, head: str = "") -> LmReader:
    """Return the reader with a model and a head, by default the shipped head.

    Raises ConfigError if a package is missing, the model does not load, or the head is invalid or
    was fitted on another model.
    """
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"simulator.reader: lm needs {', '.join(missing)}: "
            f"{installation.install_command('train')}, or choose simulator.reader=lexical"
        )
    path = heads.expanded("simulator.reader_head", head) if head else heads.SHIPPED
    fitted_head = heads.read(path)
    from harness.simulator.readers.states import SentenceStates  # imported late: takes seconds

    states = SentenceStates(model)
    heads.refuse_another(fitted_head, path, states.identity, model)
    return LmReader(states, fitted_head, (model, head))


class LmReader:
    """Classifies sentences with a language model. New sentences are read in batches."""

    def __init__(
        self, states: SentenceStates, head: ClassifierHead, arguments: tuple[str, str]
    ) -> None:
        self._states, self._head, self._arguments = states, head, arguments
        self._remembered = ValueCache[str, SentenceLabel]()

    def __reduce__(self) -> tuple[Callable[..., LmReader], tuple[str, str]]:
        """Pickle as a call of `lm_reader`, so that another process loads the model itself."""
        return lm_reader, self._arguments

    @property
    def name(self) -> str:
        """Name of the reader on cards, with the digests of its model and its head."""
        model = self._states.identity
        return f"lm ({model.architecture} {model.weights}, head {self._head.digest})"

    @property
    def misses(self) -> int:
        """Number of sentences read so far, not counting those answered from the cache."""
        return self._remembered.made

    def hear(self, sentences: Sequence[str]) -> list[SentenceLabel]:
        """Return each sentence as heard."""
        return self._remembered.of(sentences, self._hear)

    def _hear(self, sentences: Sequence[str]) -> Iterator[SentenceLabel]:
        """Yield each sentence as heard, without the cache."""
        states = self._states.of(sentences, self._head.extraction)
        features = np.concatenate([states, word_features(sentences)], axis=1)
        polarities = self._head.polarities(features).tolist()
        strategies = self._head.strategies(features)
        for sentence, (caring, _, hurtful), chances in zip(
            sentences, polarities, strategies, strict=True
        ):
            heard = Polarity(caring, 1 - caring - hurtful, hurtful)
            yield SentenceLabel(heard, strategy_of(sentence, _likeliest_kind(chances)))


def word_features(sentences: Sequence[str]) -> Floats:
    """Return the lexical reader's log-probabilities, shape (sentences, WORD_FEATURES)."""
    chances = [
        (
            *regression(polarity.WEIGHTS, polarity.POLARITIES).probabilities(features),
            *regression(recognition.WEIGHTS, KINDS).probabilities(features),
        )
        for features in (extract_features(sentence).features for sentence in sentences)
    ]
    values = np.array(chances).reshape(len(sentences), heads.WORD_FEATURES)
    logs: Floats = np.log(np.maximum(values, LEAST_CHANCE))
    return logs


def _likeliest_kind(chances: Floats) -> str | None:
    """Return the most probable kind; None below SURE, so that `strategy_of` decides."""
    best = int(chances.argmax())
    return KINDS[best] if chances[best] >= SURE else None
