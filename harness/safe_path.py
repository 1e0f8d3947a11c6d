"""What is imported comes from where Python is installed, never from the current folder.

A run folder, a log or a study may come from somebody else, and people work inside it: a signal.py
beside the data must not run. Python itself puts the current folder first for `-c` and `-m`, which
is how multiprocessing, joblib, submitit and torch start their processes.
"""

import os
import sys
from pathlib import Path

VARIABLE = "PYTHONSAFEPATH"


def keep() -> None:
    """Take the current folder from this process's path, and keep it from those of its descendants.

    An entry of PYTHONPATH is the user's own and stays, and so does a checkout that we run from.
    """
    os.environ[VARIABLE] = "1"
    started_as_module = getattr(sys.modules["__main__"], "__spec__", None) is not None
    if started_as_module and not sys.flags.safe_path and sys.path:
        ours = str(Path(__file__).resolve().parent.parent)
        if os.path.realpath(sys.path[0]) != ours:
            del sys.path[0]
