"""Importers of plug-ins: what they may read, what is never theirs, and one that fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.law.analysis import analyse
from harness.law.io import reading
from harness.law.io.importers.rows import Importer, Rows
from harness.law.io.table import ReadError
from harness.testing import run_folders, synthetic
from harness.utils import extensions

LOG = Path(__file__).parents[1] / "logs" / "verl_console.log"
OTHER = """
from harness.law.io.importers.rows import Importer, Rows

def rows(data):
    return data.no_such_attribute

MINE = Importer(lambda name, data: name.endswith(".mine"), rows)
"""


def test_an_importer_of_a_plug_in_that_raises_is_named_and_other_logs_are_read(
    tmp_path: Path, installed: Callable[..., None]
) -> None:
    (tmp_path / "other_importer.py").write_text(OTHER)
    installed("[harness.importers]\nmine = other_importer:MINE\n")
    (tmp_path / "a.mine").write_text("1 2 3\n")
    bad, good = analyse([tmp_path / "a.mine", LOG]).runs
    assert bad.error is not None
    assert (bad.error.kind, bad.error.message) == (
        "unreadable",
        f"{tmp_path}/a.mine: must be readable by the importer mine of other, got AttributeError: "
        "'bytes' object has no attribute 'no_such_attribute'",
    )
    assert good.error is None


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        (None, "ModuleNotFoundError: No module named 'other_importer'"),
        ("MINE = undefined\n", "NameError: name 'undefined' is not defined"),
        ("def (:\n", "SyntaxError: invalid syntax (other_importer.py, line 1)"),
    ],
)
def test_an_importer_that_cannot_be_imported_is_named_and_our_logs_are_read(
    tmp_path: Path, installed: Callable[..., None], code: str | None, raised: str
) -> None:
    if code is not None:
        (tmp_path / "other_importer.py").write_text(code)
    installed("[harness.importers]\nmine = other_importer:MINE\n")
    (tmp_path / "a.mine").write_text("1 2 3\n")
    run_folders.write_run(tmp_path / "run", synthetic.lawful_rows(n=40))
    bad, good = analyse([tmp_path / "a.mine", tmp_path / "run"]).runs
    assert bad.error is not None
    assert (bad.error.kind, bad.error.message) == (
        "unreadable",
        f"{tmp_path}/a.mine: harness.importers: mine of other must be importable as "
        f"other_importer:MINE, got {raised}",
    )
    assert good.error is None


def test_a_plug_in_may_read_what_ours_refuse_or_read_otherwise(tmp_path: Path) -> None:
    def rows(data: bytes) -> Rows:
        found = [{"step": n, "entropy": 1 / n, "reward": 0.5} for n in range(1, len(data))]
        return Rows(found, list(range(1, len(data))), {}, "must hold bytes", scattered=False)

    for name, data in (("a.gz", b"\x1f\x8bcompressed"), ("b.csv", b"a;b\n1;2\n")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ReadError):
            reading.read(tmp_path / name, ("step",))
        with extensions.registered("importer", "mine", Importer(lambda _, __: True, rows)):
            assert len(reading.read(tmp_path / name, ("step",)).lines) == len(data) - 1


def test_a_whole_log_of_ours_is_never_a_plug_ins(tmp_path: Path) -> None:
    def never(name: str, data: bytes) -> bool:
        raise AssertionError(name)

    run_folders.write_rows(tmp_path, synthetic.lawful_rows(n=20))
    with extensions.registered("importer", "mine", Importer(never, never)):  # type: ignore[arg-type]
        assert len(reading.read(tmp_path / "metrics.jsonl", ("step",)).lines) == 20


def test_no_plug_in_is_asked_for_the_log_of_a_run_folder_though_a_row_is_torn(
    tmp_path: Path,
) -> None:
    def never(name: str, data: bytes) -> bool:
        raise AssertionError(name)

    run_folders.write_run(tmp_path, synthetic.lawful_rows(n=20))
    log = tmp_path / "metrics.jsonl"
    log.write_bytes(log.read_bytes()[:-9])
    with extensions.registered("importer", "mine", Importer(never, never)):  # type: ignore[arg-type]
        table = reading.read(log, ("step",))
    assert len(table.lines) == 19
    assert list(table.damage) == ["torn_last_line"]
