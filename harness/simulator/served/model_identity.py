"""Identity of the model that answers, as it names itself: one model for a whole run.

simulator/answerer.json has the model and its builds (`system_fingerprint`) seen so far. Because
some endpoints name a new build with every answer, at most one new build is kept per step, and
MOST_BUILDS in all. Answers of builds that are not kept are counted.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness.errors import DataError, EndpointError
from harness.records import atomic, plain_file
from harness.utils import safe_text

FILE = "answerer.json"
MOST_BUILDS = 50


class ModelIdentity:
    """The model and the builds seen so far, in a run since its first step."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._path: Path | None = None
        self._model: str | None = None
        self._builds: list[str] = []
        self._others = self._others_kept = 0
        self._may_keep, self._has_reported, self._unwritten = True, False, False

    def keep_in(self, folder: Path) -> None:
        """Keep the identity in `folder`, continuing a file that is there.

        Raises DataError for a damaged file.
        """
        self._path = folder / FILE
        if self._path.exists():
            self._model, self._builds, self._others = _read(self._path)
            self._others_kept = self._others

    def observe(self, model: str | None, build: str | None) -> None:
        """Note the model and build that an answer names, each None if it names none.

        Raises EndpointError if the model changes. A change of build is reported once.
        """
        if model is not None and self._model not in (None, model):
            raise EndpointError(
                f"simulator.base_url: {self._url} must serve one model during a whole run, at "
                f"first {self._model!r}, got {model!r}; serve the first again and continue with "
                "`harness resume`, or start another run"
            )
        if self._model != model is not None:
            self._model, self._unwritten = model, True
        if build is not None and build not in self._builds:
            self._add_build(build)

    def at_step(self) -> None:
        """Begin a step, in which one more new build may be kept. Raises StorageError."""
        self._unwritten |= self._others > self._others_kept
        self.flush()
        self._may_keep = True

    def flush(self) -> None:
        """Write the identity to disk if it changed. Raises StorageError."""
        if self._path is not None and self._unwritten:
            identity = {"model": self._model, "builds": self._builds}
            others = {"others": self._others} if self._others else {}
            atomic.write_json(self._path, identity | others)
            self._others_kept = self._others
        self._unwritten = False

    def _add_build(self, build: str) -> None:
        if self._builds and not self._has_reported:
            safe_text.say(
                f"simulator.base_url: {self._url} answers from another build of {self._model!r}, "
                f"{build!r} (system_fingerprint); its users may differ from here on. Further ones "
                f"are noted in {FILE}"
            )
            self._has_reported = True
        if self._may_keep and len(self._builds) < MOST_BUILDS:
            self._builds.append(build)
            self._may_keep, self._unwritten = False, True
        else:
            self._others += 1


def _read(path: Path) -> tuple[str | None, list[str], int]:
    rule = "must say model and builds, as a run wrote them"
    try:
        content = json.loads(plain_file.text(path))
        model, builds, others = content["model"], content["builds"], content.get("others", 0)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: {rule}; got {plain_file.one_line(error)}") from error
    has_names = isinstance(builds, list) and all(isinstance(build, str) for build in builds)
    if not has_names or not (model is None or isinstance(model, str)):
        raise DataError(f"{path}: {rule}; got {model!r:.40} and {builds!r:.40}")
    if type(others) is not int or others < 0:
        raise DataError(f"{path}: others must be a count, as a run wrote it; got {others!r:.40}")
    return model, builds, others
