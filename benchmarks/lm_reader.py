"""Learn the head by which `simulator.reader=lm` hears with a language model, and judge it.

python -m benchmarks.lm_reader MODEL [--out FILE] [--states FOLDER]  # learn a head and judge it
python -m benchmarks.lm_reader MODEL --report [--out FILE] [--esconv FILE]  # judge the one in FILE

FILE is the shipped head unless it is named. Learns from the sentences that the lexical reader
learns from, and is judged on those that it is judged on: benchmarks/polarity_reader.py and
strategy_reader.py. The lexical reader's log-probabilities are features too; of the sentences that
are learnt from they come from weights learnt without their batch. The hidden states that it learns
from are taken in bfloat16, a quarter of the time on a CPU with AMX; `--states` keeps them.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize

from benchmarks import polarity_reader, strategy_reader, word_weights
from harness.calibration.validity import esconv
from harness.calibration.validity import measure as validity
from harness.calibration.validity.replies import LANGUAGE, pairs, texts
from harness.compose import planner
from harness.config.run import LEVELS
from harness.simulator.readers import head as heads
from harness.simulator.readers.head import ClassifierHead, Extraction, Floats
from harness.simulator.readers.lm import LEAST_CHANCE, lm_reader, word_features
from harness.simulator.readers.states import SentenceStates
from harness.simulator.scripted.polarity import POLARITIES
from harness.simulator.scripted.reading import read_all
from harness.simulator.scripted.recognition import KINDS
from harness.simulator.scripted.sentence_reader import LEXICAL, SentenceReader

WORD_SCALE = 10.0
"""How much larger the features of words are than those of states: they are penalised less."""
FOLDS = 4
"""Parts of the batches; the words of one are weighed by the others."""
PENALTIES = (300.0, 1000.0, 3000.0)
EXTRACTION = Extraction("He said:", "\nThis made me feel", (16,), (16,), 96)
"""Of 30 layers; other numbers of layers are asked in proportion."""
HALF = "held_out"
Codes = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class Labelled:
    """Sentences to learn one thing from."""

    texts: list[str]
    kinds: Codes
    folds: Codes
    """Part of each sentence's batch."""


def of_polarity() -> Labelled:
    """The sentences that the lexical reader learns polarity from."""
    some = [s for s in polarity_reader.read() if not s.held_out]
    tuned = polarity_reader.tuned_half()
    both = [*some, *tuned]
    return Labelled(
        [s.text for s in both],
        np.array([POLARITIES.index(s.polarity) for s in both]),
        np.array([*(_fold(s.batch) for s in some), *(_fold(s.text) for s in tuned)]),
    )


def of_strategy() -> Labelled:
    """The sentences that the lexical reader learns strategies from."""
    some, others = [s for s in polarity_reader.read() if not s.held_out], strategy_reader.read()
    kinds = [*(s.strategy for s in some), *(s.kind for s in others)]
    return Labelled(
        [*(s.text for s in some), *(s.text for s in others)],
        np.array([KINDS.index(kind) for kind in kinds]),
        np.array([*(_fold(s.batch) for s in some), *(_fold(s.text) for s in others)]),
    )


def _fold(name: str) -> int:
    return zlib.crc32(name.encode()) % FOLDS


def cross_fitted(labelled: Labelled, penalty: float) -> Floats:
    """Log-probabilities of each kind by word weights learnt from the other folds."""
    logs = np.zeros((len(labelled.texts), labelled.kinds.max() + 1))
    everything = np.array(labelled.texts, object)
    for fold in range(FOLDS):
        out = labelled.folds == fold
        weights = word_weights.learn(list(everything[~out]), labelled.kinds[~out], penalty)
        chances = word_weights.probabilities(list(everything[out]), weights)
        logs[out] = np.log(np.maximum(chances, LEAST_CHANCE))
        print(f"words, fold {fold + 1} of {FOLDS}", flush=True)
    return logs


def words_of(polarity: Labelled, strategy: Labelled, folder: Path | None) -> dict[str, Floats]:
    """By sentence learnt from, the lexical reader's log-probabilities, of weights without it.

    A sentence that only one of the two learns from has the shipped weights' for the other.
    """
    kept = folder / "words.npz" if folder else None
    if kept and kept.exists():
        with np.load(kept) as file:
            parts = file["polarity"], file["strategy"]
    else:
        parts = (
            cross_fitted(polarity, polarity_reader.PENALTY),
            cross_fitted(strategy, strategy_reader.PENALTY),
        )
        if kept:
            np.savez(kept, polarity=parts[0], strategy=parts[1])
    whole = list(dict.fromkeys([*polarity.texts, *strategy.texts]))
    logs = dict(zip(whole, word_features(whole), strict=True))
    for text, row in zip(polarity.texts, parts[0], strict=True):
        logs[text] = np.concatenate([row, logs[text][len(POLARITIES) :]])
    for text, row in zip(strategy.texts, parts[1], strict=True):
        logs[text] = np.concatenate([logs[text][: len(POLARITIES)], row])
    return logs


def states_of(
    make: Callable[[], SentenceStates], extraction: Extraction, some: Sequence[str],
    folder: Path | None,
) -> Floats:  # fmt: skip
    """The hidden states of sentences, kept in `folder` if one is given."""
    kept = folder / "states.npy" if folder else None
    names = folder / "texts.json" if folder else None
    if kept and names and kept.exists():
        places = {text: n for n, text in enumerate(json.loads(names.read_text(encoding="utf-8")))}
        held = np.load(kept, mmap_mode="r")
        return np.asarray(held[[places[text] for text in some]], np.float32)
    states, parts, began = make(), [], time.monotonic()
    for start in range(0, len(some), 2048):
        parts.append(states.of(some[start : start + 2048], extraction).astype(np.float16))
        print(f"{start + len(parts[-1])} states, {time.monotonic() - began:.0f} s", flush=True)
    values = np.concatenate(parts)
    if kept and names:
        np.save(kept, values)
        names.write_text(json.dumps(list(some)), encoding="utf-8")
    return values.astype(np.float32)


def regression(x: Floats, kinds: Codes, penalty: float) -> Floats:
    """Multinomial weights, shape (features + 1, kinds), the constant last and not penalised."""
    ones = np.concatenate([x, np.ones((len(x), 1), np.float32)], axis=1, dtype=np.float32)
    target = np.eye(int(kinds.max()) + 1, dtype=np.float32)[kinds]
    shape = ones.shape[1], target.shape[1]
    free = np.ones((shape[0], 1), np.float32)
    free[-1] = 0

    def loss(flat: Floats) -> tuple[float, Floats]:
        w = flat.reshape(shape).astype(np.float32)
        scores = ones @ w
        scores -= scores.max(axis=1, keepdims=True)
        logp = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        gradient = ones.T @ (np.exp(logp) - target) + penalty * free * w
        value = -float(logp[target > 0].sum(dtype=np.float64))
        value += penalty / 2 * float((free * w**2).sum(dtype=np.float64))
        return value, gradient.astype(np.float64).ravel()

    done = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B",
                    options={"maxiter": 150})  # fmt: skip
    return np.asarray(done.x.reshape(shape))


def chosen_penalty(x: Floats, labelled: Labelled) -> float:
    """The penalty at which a fold is best told from the others."""
    out = labelled.folds == 0
    losses = {}
    for penalty in PENALTIES:
        w = regression(x[~out], labelled.kinds[~out], penalty)
        scores = x[out] @ w[:-1] + w[-1]
        scores -= scores.max(axis=1, keepdims=True)
        logp = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        losses[penalty] = -float(logp[np.arange(out.sum()), labelled.kinds[out]].mean())
        right = (scores.argmax(axis=1) == labelled.kinds[out]).mean()
        print(f"penalty {penalty:g}: {losses[penalty]:.4f} nats, right {right:.3f}", flush=True)
    return min(losses, key=lambda penalty: losses[penalty])


def learn(model: str, folder: Path | None) -> ClassifierHead:
    """Return the head learnt for a model."""
    states = SentenceStates(model)
    extraction = in_proportion(states.identity.layers)
    polarity, strategy = of_polarity(), of_strategy()
    logs = words_of(polarity, strategy, folder)
    whole = list(logs)
    place = {text: n for n, text in enumerate(whole)}
    hidden = states_of(lambda: SentenceStates(model, torch.bfloat16), extraction, whole, folder)
    x = np.concatenate([hidden, np.array([logs[text] for text in whole], np.float32)], axis=1)
    centre, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    scale[-heads.WORD_FEATURES :] /= WORD_SCALE
    x = (x - centre) / scale
    learnt = {}
    for name, labelled in (("polarity", polarity), ("strategy", strategy)):
        some = x[[place[text] for text in labelled.texts]]
        penalty = chosen_penalty(some, labelled)
        print(f"{name}: {len(some)} sentences, penalty {penalty:g}", flush=True)
        learnt[name] = regression(some, labelled.kinds, penalty)
    return ClassifierHead(states.identity, extraction, centre, scale, **learnt)


def in_proportion(layers: int) -> Extraction:
    """EXTRACTION for a model of so many layers."""

    def scaled(numbers: Sequence[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(max(1, round(n * layers / 30)) for n in numbers))

    return replace(
        EXTRACTION,
        mean_layers=scaled(EXTRACTION.mean_layers),
        last_layers=scaled(EXTRACTION.last_layers),
    )


def evidence(replies: Sequence[str], reader: SentenceReader) -> Floats:
    """Log-odds that each reply is hurtful."""
    return np.array([reading.hurt_evidence for reading in read_all(replies, reader)])


def report(reader: SentenceReader, file: Path | None) -> None:
    """Print how well a reader hears sentences of unseen batches and the held-out replies."""
    unseen = [s for s in polarity_reader.read() if s.held_out]
    heard = reader.hear([s.text for s in unseen])
    given = np.array([POLARITIES.index(s.polarity) for s in unseen])
    chances = np.array([[getattr(h.polarity, name) for name in POLARITIES] for h in heard])
    strategies = [h.strategy == s.strategy for h, s in zip(heard, unseen, strict=True)]
    hurt, caring = chances[given == 2, 2], chances[given == 0, 2]
    print(
        f"{reader.name}\nunseen batches, {len(unseen)} sentences: polarity right "
        f"{(chances.argmax(axis=1) == given).mean():.3f}, area hurtful against caring "
        f"{area(hurt, caring):.3f}, strategy heard {np.mean(strategies):.3f}, none "
        f"{np.mean([h.strategy is None for h in heard]):.3f}"
    )
    twins = [pair for pair in pairs() if pair.half == HALF]
    cruel, kind = (evidence([getattr(p, n) for p in twins], reader) for n in ("cruel", "kind"))
    negated = evidence(texts(HALF, ["supportive_negation"]), reader)
    limit = np.quantile(np.concatenate([kind, negated]), 1 - polarity_reader.FALSE_ALARMS)
    natural = evidence(texts(HALF, LANGUAGE), reader)
    print(
        f"held-out half: area {area(cruel, kind):.3f}; at 10% {np.mean(cruel > limit):.3f}; above "
        f"even odds: cruel {np.mean(cruel > 0):.3f}, kind {np.mean(kind > 0):.3f}, negations "
        f"{np.mean(negated > 0):.3f}, natural {np.mean(natural > 0):.3f}; twins in order "
        f"{np.mean(cruel > kind):.3f}"
    )
    for level in LEVELS:
        config = planner.point([f"difficulty={level}"]).config
        values = vars(validity.measure(config.difficulty, HALF, reader))
        shown = {n: f"{v.value:.3f}" for n, v in values.items() if hasattr(v, "value")}
        print(level, *(f"{name} {value}" for name, value in shown.items()), flush=True)
    if file:
        found = esconv.measure(esconv.utterances(file), reader)
        for name in ("agreement", "heard_per_utterance", "kappa", "unheard"):
            interval = getattr(found, name)
            print(f"ESConv {name} {interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]")


def area(above: Floats, below: Floats) -> float:
    """Chance that one of `above` exceeds one of `below`."""
    return float(np.mean(above[:, None] > below[None]) + np.mean(above[:, None] == below[None]) / 2)


def cost(reader: SentenceReader) -> None:
    """Print what a new sentence costs, alone and in batches of 64."""
    some = [f"{s.text} {n}" for n, s in enumerate(polarity_reader.read()[:512])]
    reader.hear(["This loads what is loaded once."])
    for size, count in ((1, 64), (64, 448)):
        chosen = some[:count] if size == 1 else some[64 : 64 + count]
        began = time.process_time()
        for start in range(0, count, size):
            reader.hear(chosen[start : start + size])
        ms = 1000 * (time.process_time() - began) / count
        print(f"{reader.name}: {ms:.2f} ms a new sentence in batches of {size}", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    options = argparse.ArgumentParser()
    options.add_argument("model")
    options.add_argument("--out", type=Path, default=heads.SHIPPED)
    options.add_argument("--states", type=Path)
    options.add_argument("--esconv", type=Path)
    options.add_argument("--report", action="store_true")
    chosen = options.parse_args()
    if not chosen.report:
        chosen.out.write_bytes(learn(chosen.model, chosen.states).to_bytes())
    for reader in (LEXICAL, lm_reader(chosen.model, str(chosen.out))):
        cost(reader)
        report(reader, chosen.esconv)


if __name__ == "__main__":
    main()
