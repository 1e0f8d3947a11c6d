"""Keeps the current folder out of the module search path: imports come from the installation.

A run folder, a log or a study may come from somebody else, and people work inside it: a signal.py
beside the data must not run. Python itself puts the current folder first for `-c` and `-m`, which
is how multiprocessing, joblib, submitit and torch start their processes, and takes an empty entry
of PYTHONPATH for it, which `export PYTHONPATH=$PYTHONPATH:/my/lib` leaves where there was none.
"""

import os  # both are loaded before any path is searched; nothing else may be imported here
import sys

VARIABLE = "PYTHONSAFEPATH"
PATH = "PYTHONPATH"


def keep() -> None:
    """Take the current folder from this process's path, and keep it from those of its descendants.

    Any other entry of PYTHONPATH is the user's own and stays, and so does a checkout that we run
    from.
    """
    os.environ[VARIABLE] = "1"
    started_as_module = getattr(sys.modules["__main__"], "__spec__", None) is not None
    if started_as_module and not sys.flags.safe_path and sys.path and not _is_ours(sys.path[0]):
        del sys.path[0]
    search_path = os.environ.get(PATH)
    kept = os.pathsep.join(_named())
    if search_path and kept != search_path and not _is_ours(os.curdir):
        os.environ[PATH] = kept  # an empty one names no folder at all
        sys.path[:] = without_here()


def without_here() -> list[str]:
    """The module search path without the current folder, unless the user named it in PYTHONPATH,
    it is Python's own, or the checkout that we run from.
    """
    here = _real(os.curdir)
    pythons_own = here.startswith((_real(sys.prefix), _real(sys.base_prefix)))
    if pythons_own or here in map(_real, _named()) or _is_ours(os.curdir):
        return list(sys.path)
    return [entry for entry in sys.path if _real(entry) != here]


def _named() -> list[str]:
    """The folders of PYTHONPATH but for those that stand for the current one."""
    entries = os.environ.get(PATH, "").split(os.pathsep)
    return [entry for entry in entries if not _stands_for_here(entry)]


def _stands_for_here(entry: str) -> bool:
    return os.path.normpath(entry) == os.curdir


def _is_ours(path: str) -> bool:
    return _real(path) == _real(f"{__file__}/../../..")


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except OSError:  # the current folder is gone
        return path
