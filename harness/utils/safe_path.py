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
    kept = [entry for entry in (search_path or "").split(os.pathsep) if not _stands_for_here(entry)]
    if search_path and os.pathsep.join(kept) != search_path and not _is_ours(os.curdir):
        _keep(kept)


def _keep(kept: list[str]) -> None:
    """Leave only these of PYTHONPATH; an empty one names no folder at all."""
    os.environ[PATH] = os.pathsep.join(kept)
    here = _real(os.curdir)
    pythons_own = here.startswith((_real(sys.prefix), _real(sys.base_prefix)))
    if here not in map(_real, kept) and not pythons_own:
        sys.path[:] = [entry for entry in sys.path if _real(entry) != here]


def _stands_for_here(entry: str) -> bool:
    return os.path.normpath(entry) == os.curdir


def _is_ours(path: str) -> bool:
    return _real(path) == _real(f"{__file__}/../../..")


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except OSError:  # the current folder is gone
        return path
