"""Errors that a user can cause or must act on, with the exit code of each.

    HarnessError
    ├── ConfigError    2   bad usage or config; nothing was created
    ├── DataError     65   no run could be read, nothing to resume, or a checkpoint is damaged
    │   └── VersionError   only another version of harness can continue the run
    ├── EndpointError 69   the simulator's endpoint is gone
    ├── DivergedError 70   training diverged, or a replayed row differs from the one on disk
    ├── DeviceError   71   no GPU, or out of memory
    ├── FolderError   73   the run folder cannot be created
    ├── StorageError  74   an I/O error while writing
    ├── PlugInError    3   part of the results is missing because a plug-in failed
    ├── StoppedError  75   stopped and resumable, or the folder is held by a live process
    └── EarlyEnd       0   trainer.stop_when ended the run; this is no failure

Exit code 3 is also returned for partly done work, 130 after an interruption; neither needs an
exception. 1 means a bug. A message has three parts: where (file:line or dotted key), which rule is
broken, and which value was given.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_PARTIAL = 3
EXIT_INTERRUPTED_TWICE = 130


class HarnessError(Exception):
    """Base of every error that is the user's to fix; printed as one line, without a traceback."""

    exit_code: ClassVar[int] = 1


class ConfigError(HarnessError):
    """The overrides, a config value or the command line do not describe a valid run."""

    exit_code = 2


class DataError(HarnessError):
    """No run could be read, there is nothing to resume, or a checkpoint is damaged."""

    exit_code = 65


class VersionError(DataError):
    """The run is undamaged, but only another version of harness can continue it."""


class EndpointError(HarnessError):
    """The user simulator's endpoint is gone and its retry budget is spent."""

    exit_code = 69


class DivergedError(HarnessError):
    """Training diverged, or a recomputed metrics row differs from the row on disk."""

    exit_code = 70


class DeviceError(HarnessError):
    """No GPU is available, or its memory ran out."""

    exit_code = 71


class FolderError(HarnessError):
    """The run folder cannot be created."""

    exit_code = 73


class StorageError(HarnessError):
    """Reading or writing the run folder failed: disk full, read-only, removed."""

    exit_code = 74


class PlugInError(HarnessError):
    """A plug-in of another package failed. Everything else was done."""

    exit_code = EXIT_PARTIAL


class StoppedError(HarnessError):
    """The run stopped on request and can be resumed, or another live process holds its folder."""

    exit_code = 75


class EarlyEnd(HarnessError):
    """`trainer.stop_when` ended the run before its last step. This is no failure."""

    exit_code = 0
