"""Counts which words stand side by side in natural sentences, for the judge of language.

    python -m benchmarks.english_pairs           # count, write english_pairs.tsv, report
    python -m benchmarks.english_pairs --check   # fail if the file is not what is counted

Reads the sentences of strategy_sentences.tsv and of benchmarks/sentences, kind and cruel, by ten
writers of many manners, and writes harness/simulator/scripted/english_pairs.tsv: a line for each
word with its uses and the words that follow it, then one for each class of rare words; ^ is the
beginning of a clause, $ its end.
Prints the share of each writer's sentences that the whole rule calls no language, by what the
others' show.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.strategy_reader import SENTENCES
from harness.records import atomic
from harness.simulator.scripted import language_guard, sentence_guard, word_pairs
from harness.simulator.scripted.bigrams import PAIRS, Bigrams, count_pairs

FOLDER, WRITERS = Path(__file__).with_name("sentences"), "abcdefg"
"""Later writers wrote for polarity alone, and are left out: more pairs met would let more pass."""
NOTE = (
    "# Made by `python -m benchmarks.english_pairs`: a word, its uses, what comes next:count ...\n"
)


def main() -> None:
    by_writer = texts()
    counts = count_pairs(text for some in by_writer.values() for text in some)
    text = NOTE + "".join(f"{line}\n" for line in Bigrams.of(counts).lines())
    if "--check" in sys.argv[1:]:
        if PAIRS.read_text(encoding="utf-8") != text:
            sys.exit(f"{PAIRS}: must be what is counted; python -m benchmarks.english_pairs")
        return
    atomic.write_bytes(PAIRS, text.encode(), durable=False)
    print("| writer | sentences | no language |\n|---|---|---|")
    for writer, own in by_writer.items():
        others = (t for by, some in by_writer.items() if by != writer for t in some)
        shares = _flagged(own, Bigrams.of(count_pairs(others)))
        print(f"| {writer} | {len(own)} | {shares:.4f} |", flush=True)


def texts() -> dict[str, list[str]]:
    """The natural sentences by writer."""
    by_writer: dict[str, list[str]] = {}
    for line in SENTENCES.read_text(encoding="utf-8").splitlines():
        writer, _, text = line.split("\t")
        by_writer.setdefault(f"first {writer}", []).append(text)
    for writer in WRITERS:
        by_writer[writer] = list(_of(FOLDER / f"{writer}.tsv"))
    return by_writer


def _of(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        yield line.split("\t")[4]


def _flagged(own: list[str], known: Bigrams) -> float:
    """Share of `own` that is no language to one who knows the others' sentences."""
    for module in (language_guard, sentence_guard, word_pairs):
        module.english_bigrams = lambda: known  # type: ignore[attr-defined]
    sentence_guard.fault_in.cache_clear()
    return sum(language_guard.fault(text) is not None for text in own) / len(own)


if __name__ == "__main__":
    main()
