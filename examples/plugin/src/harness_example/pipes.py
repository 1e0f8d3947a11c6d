"""An importer: logs of lines as `epoch 12 | H 0.83 | R 0.41`, in files that end in .pipes."""

import re

from harness.law.io.importers.rows import Importer, Row, Rows, damaged

RULE = "must hold lines `epoch N | H NUMBER | R NUMBER`"
LINE = re.compile(rb"epoch (\d{1,9}) \| H (-?\d+\.\d+) \| R (-?\d+\.\d+)")


def looks_like(name: str, data: bytes) -> bool:
    return name.endswith(".pipes")


def rows(data: bytes) -> Rows:
    """The lines of the format; a last line without its end is torn, since a number may be cut."""
    lines = data.split(b"\n")
    whole, last = lines[:-1], lines[-1]
    found: list[Row] = []
    places, malformed = [], []
    for number, line in enumerate(whole, 1):
        match = LINE.fullmatch(line)
        if match:
            step, entropy, reward = match.groups()
            row = {"step": int(step), "entropy": float(entropy), "reward": float(reward)}
            found.append(row)
            places.append(number)
        elif line.strip():
            malformed.append(number)
    torn = len(lines) if last.strip() else None
    return Rows(found, places, damaged(malformed, torn), RULE, scattered=False)


PIPES = Importer(looks_like, rows)
