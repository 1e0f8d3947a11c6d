"""Which model answers, by what its answers say: one for a whole run, whatever is behind the URL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from harness import said
from harness.errors import DataError, EndpointError
from harness.records import atomic, plain_file

FILE = "answerer.json"


class Answerer:
    """The model and the builds of it that were heard; in a run, since its first step."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._path: Path | None = None
        self._model: str | None = None
        self._builds: Sequence[str] = ()

    def keep_in(self, folder: Path) -> None:
        """Raises DataError for a damaged file."""
        self._path = folder / FILE
        if self._path.exists():
            self._model, self._builds = _read(self._path)

    def heard(self, model: str | None, build: str | None) -> None:
        """An answer came, with what it says of its origin; None where it says nothing.

        Raises EndpointError for another model than before. Another build is said, and noted.
        """
        if model is not None and self._model not in (None, model):
            raise EndpointError(
                f"simulator.base_url: {self._url} must answer as one model for a whole run, at "
                f"first as {self._model!r}, got {model!r}; put the first back and continue with "
                "`harness resume`, or begin another run"
            )
        new = build is not None and build not in self._builds
        if new and self._builds:
            said.say(
                f"simulator.base_url: {self._url} answers from another build of {self._model!r}, "
                f"{build!r} (system_fingerprint); its users may differ from here on"
            )
        if new or self._model != model is not None:
            self._model = model or self._model
            self._builds = (*self._builds, *([build] if build is not None and new else []))
            self._write()

    def _write(self) -> None:
        if self._path is not None:
            atomic.write_json(self._path, {"model": self._model, "builds": list(self._builds)})


def _read(path: Path) -> tuple[str | None, Sequence[str]]:
    rule = "must say model and builds, as a run wrote them"
    try:
        found = json.loads(plain_file.text(path))
        model, builds = found["model"], found["builds"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: {rule}; got {plain_file.one_line(error)}") from error
    named = isinstance(builds, list) and all(isinstance(build, str) for build in builds)
    if not named or not (model is None or isinstance(model, str)):
        raise DataError(f"{path}: {rule}; got {model!r:.40} and {builds!r:.40}")
    return model, builds
