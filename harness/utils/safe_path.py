"""Keeps the current folder out of the module search path: imports come from the installation.

A run folder, a log or a study may come from somebody else, and users work inside it: a signal.py
next to the data must not run. Python puts the current folder first for `-c` and `-m`, with which
multiprocessing, joblib, submitit and torch start processes. It also treats an empty entry of
PYTHONPATH as the current folder, and `export PYTHONPATH=$PYTHONPATH:/my/lib` creates an empty entry
if the variable was not set.
"""

import os  # Python has loaded os and sys already; nothing else may be imported here
import sys

VARIABLE = "PYTHONSAFEPATH"
PATH = "PYTHONPATH"


def drop_current_folder() -> None:
    """Remove the current folder from the search paths of this process and its descendants.

    Other entries of PYTHONPATH are kept, and so is a checkout of harness that is the current
    folder.
    """
    os.environ[VARIABLE] = "1"
    started_as_module = getattr(sys.modules["__main__"], "__spec__", None) is not None
    if started_as_module and not sys.flags.safe_path and sys.path and not _is_ours(sys.path[0]):
        del sys.path[0]
    search_path = os.environ.get(PATH)
    new_path = os.pathsep.join(_named_entries())
    if search_path and new_path != search_path and not _is_ours(os.curdir):
        os.environ[PATH] = new_path  # an entirely empty PYTHONPATH has no entries
        sys.path[:] = without_here()


def without_here() -> list[str]:
    """Return sys.path without the current folder, unless the user named that in PYTHONPATH or it is
    Python's own folder or the checkout of harness.
    """
    here = _real(os.curdir)
    pythons_own = here.startswith((_real(sys.prefix), _real(sys.base_prefix)))
    if pythons_own or here in map(_real, _named_entries()) or _is_ours(os.curdir):
        return list(sys.path)
    return [entry for entry in sys.path if _real(entry) != here]


def _named_entries() -> list[str]:
    """Return the entries of PYTHONPATH, except empty ones and `.`."""
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
