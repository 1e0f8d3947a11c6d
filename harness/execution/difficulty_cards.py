"""cards.json of a sweep: the measured difficulty of the levels that its runs train on.

A separate process measures while the runs are training. Each level is measured once per machine: a
card is cached under a hash of the level and of the versions of simulator and calibration (see
`key`). The package includes cards of the named levels with their default settings (`make cards`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from harness import calibration, simulator
from harness.calibration import users
from harness.calibration.users import Reader
from harness.config.run import SCHEMA, RunConfig
from harness.config.simulator import IN_PROCESS
from harness.errors import ConfigError, DataError, FolderError, HarnessError
from harness.execution import child_process, stop_requests
from harness.records import atomic, debug_log, plain_file, run_folder, sweep_file, user_folders
from harness.records.run_folder import RunFolder
from harness.simulator.scripted.sentence_reader import LEXICAL
from harness.utils import process, safe_text

FILE = "cards.json"
SHIPPED = calibration.SHIPPED
NICENESS = 10
"""Measuring must not slow down the runs."""
SAY_AFTER_S = 5.0
"""Seconds after the end of the runs until a message says that cards are still being measured."""


@contextlib.contextmanager
def measured_in_background(root: Path) -> Iterator[None]:
    """Create cards.json of the sweep in `root` during the block, then wait for it, unless the runs
    are stopped.

    Runs do not need their cards: a failure is printed and does not end the sweep.
    """
    if _is_complete(root):
        yield
        return
    command = [
        sys.executable,
        "-P",
        "-m",
        "harness.execution.difficulty_cards",
        str(root),
        str(os.getpid()),
    ]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             env={**os.environ, "OMP_NUM_THREADS": "1"},
                             start_new_session=True)  # fmt: skip
    wait_text = f"the runs have ended; measuring the difficulty of their levels for {root / FILE}"
    notice = threading.Timer(SAY_AFTER_S, safe_text.say, [wait_text])
    try:
        yield
        notice.start()
        code = child_process.wait(child, lambda: stop_requests.stop_runs(root), grace_s=0)
        if code and not stop_requests.stop_runs(root):
            safe_text.say(f"{root / FILE} could not be written; the runs are not affected")
    finally:
        notice.cancel()
        child.kill()
        child.wait()


def key(config: RunConfig) -> str:
    """Return a hash of everything that determines the card of a run's level, 16 hex digits."""
    level, medium = config.difficulty.knobs(), config.levels.medium.knobs()
    group_size = config.algorithm.group_size
    if config.simulator.kind not in IN_PROCESS:
        return digest(config.simulator.kind, level, medium, group_size)
    return scripted_key(level, medium, group_size, users.reader_of(config.simulator))


def scripted_key(
    level: Mapping[str, Any], medium: Mapping[str, Any], group_size: int, reader: Reader
) -> str:
    """Return the `key` of a scripted user's level."""
    reader_names = [] if reader in (LEXICAL, users.SECOND) else [reader.name]
    return digest(*users.users_key_part(reader), level, medium, group_size, *reader_names)


def digest(*parts: Any) -> str:
    """Return a hash, 16 hex digits, of `parts` and the versions of simulator and calibration."""
    versions = [simulator.VERSION, calibration.VERSION]
    hasher = hashlib.sha256(json.dumps([parts, versions], sort_keys=True).encode())
    return hasher.hexdigest()[:16]


def make(root: Path) -> None:
    """Add the missing cards to cards.json of the sweep in `root`. Raises StorageError, DataError.

    Existing cards are kept: when a study gets more seeds, the simulator may have a newer version. A
    run whose config cannot be read has no card, which is printed.
    """
    present = _cards_in(root)
    configs: dict[str, RunConfig] = {}
    for name in _missing_runs(root, present):
        try:
            configs[name] = run_folder.read_config(RunFolder(root / name))
        except (DataError, ConfigError) as error:
            safe_text.say(f"{name} has no difficulty card: {error}")
    levels: dict[str, list[str]] = {}
    for name, config in configs.items():
        levels.setdefault(key(config), []).append(name)
    cards = [_entry(k, names, configs[names[0]]) for k, names in levels.items()]
    atomic.write_json(root / FILE, {"schema": SCHEMA, "cards": [*present, *cards]})


def _is_complete(root: Path) -> bool:
    with contextlib.suppress(DataError):  # the process that creates the cards reports it
        return not _missing_runs(root, _cards_in(root))
    return False


def _cards_in(root: Path) -> list[Any]:
    path = root / FILE
    if not path.exists():
        return []
    try:
        entries = list(json.loads(plain_file.text(path))["cards"])
        [entry["runs"] for entry in entries]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: must hold the cards of a sweep, got other data") from error
    return entries


def _missing_runs(root: Path, present: Sequence[Any]) -> list[str]:
    """Return the names of the runs without a card."""
    listed = {name for entry in present for name in entry["runs"]}
    return [row.name for row in sweep_file.read(root).runs if row.name not in listed]


def _entry(key: str, names: Sequence[str], config: RunConfig) -> Mapping[str, Any]:
    level = config.difficulty.knobs()
    is_scripted = config.simulator.kind in IN_PROCESS
    card = _card(key, config) if is_scripted else None  # served users have no cards yet
    return {"level": level["name"], "runs": names, "difficulty": level, "card": card}


def _card(key: str, config: RunConfig) -> Any:
    """Return the card of a run's level from the package or the cache, else measure it."""
    shipped = read(SHIPPED / file_name(key))
    return read_or_make(file_name(key), lambda: measure(config)) if shipped is None else shipped


def _is_there(value: Any) -> bool:
    return value is not None


def read_or_make(
    name: str, make: Callable[[], Any], is_whole: Callable[[Any], bool] = _is_there
) -> Any:
    """Return the cached value `name` if it is whole, else call `make` and cache the result if
    possible.
    """
    try:
        path = user_folders.writable_cache() / name
    except (ConfigError, FolderError):  # the cache only saves time
        return make()
    lock = path.with_suffix(".lock")
    with atomic.storage_errors(lock):
        path.parent.mkdir(parents=True, exist_ok=True)
        plain_file.refuse_link(lock)
        with FileLock(lock):  # of two simultaneous sweeps, only one measures
            value = read(path)
            if not is_whole(value):
                value = make()
                atomic.write_json(path, value)
    return value


def read(path: Path) -> Any:
    """Return the card in `path`; None if it is missing or unreadable."""
    with contextlib.suppress(DataError, ValueError, RecursionError):
        return json.loads(plain_file.text(path))
    return None


def file_name(key: str) -> str:
    return f"card-{key}.json"


def measure(config: RunConfig) -> Mapping[str, Any]:
    """Measure the card of the run's level."""
    from harness.calibration import card, contexts

    reader = users.reader_of(config.simulator)
    measured_contexts = contexts.collect_contexts(config.levels.medium, reader)
    group_size = config.algorithm.group_size
    return card.measure(config.difficulty, measured_contexts, group_size, reader).card.to_json()


def main() -> None:
    process.die_with(int(sys.argv[2]))
    process.keep_private()
    os.nice(NICENESS)
    root = Path(sys.argv[1])
    try:
        make(root)
    except HarnessError as error:
        safe_text.say(str(error))
        sys.exit(error.exit_code)
    except Exception as error:
        safe_text.say(
            f"{root / FILE}: {type(error).__name__}: {error}{debug_log.log_traceback(root, error)}"
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
