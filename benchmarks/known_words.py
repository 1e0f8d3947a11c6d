"""Collect the words that people are known to use, which no slip of the keyboard is mended into.

    python -m benchmarks.known_words           # write harness/simulator/scripted/known_words.tsv
    python -m benchmarks.known_words --check   # fail if the file is not what is collected

The words of strategy_sentences.tsv, of the simulator's personas, lives, kinds of words and phrases,
and those of the batches in benchmarks/sentences that are learnt from, if two writers use them: one
writer's may be a slip. Then `python -m benchmarks.english_pairs`, `polarity_reader` and
`strategy_reader`, which count what is read.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator

from benchmarks.polarity_reader import read
from benchmarks.strategy_reader import SENTENCES
from harness.records import atomic
from harness.simulator.personas import EVERYONE
from harness.simulator.scripted.word_kinds import PHRASES, WORD_KINDS
from harness.simulator.scripted.words import KNOWN

WRITERS = 2
LETTERS = re.compile(r"[a-z]+")
HEADER = "word\tuses\n"


def main() -> None:
    shipped = Counter(word for text in _shipped() for word in LETTERS.findall(text.lower()))
    learnt = [s for s in read() if not s.held_out]
    uses = Counter(word for s in learnt for word in LETTERS.findall(s.text.lower()))
    writers: dict[str, set[str]] = {}
    for sentence in learnt:
        for word in LETTERS.findall(sentence.text.lower()):
            writers.setdefault(word, set()).add(sentence.batch[0])
    shared = Counter({w: n for w, n in uses.items() if len(writers[w]) >= WRITERS or w in shipped})
    known = sorted((shipped + shared).items())
    text = HEADER + "".join(f"{word}\t{n}\n" for word, n in known)
    if "--check" in sys.argv[1:]:
        if KNOWN.read_text(encoding="utf-8") != text:
            sys.exit(f"{KNOWN}: must be what is collected; python -m benchmarks.known_words")
        return
    atomic.write_bytes(KNOWN, text.encode(), durable=False)
    print(f"{len(known)} words")


def _shipped() -> Iterator[str]:
    """Text of which every word is meant."""
    yield SENTENCES.read_text(encoding="utf-8")
    for persona in EVERYONE:
        yield " ".join((persona.topic, *persona.feelings, *(s.text for s in persona.tellable)))
    for path, column in ((WORD_KINDS, 0), (PHRASES, 2)):
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            yield line.split("\t")[column]


if __name__ == "__main__":
    main()
