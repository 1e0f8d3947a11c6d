"""harness: difficulty-sweep studies for reinforcement learning on an empathy reward.

In a script or a notebook:

    import harness

    runs = harness.load("runs/")       # runs, sweeps, logs of other programs
    runs.metrics()                     # pandas.DataFrame, one row per step
    law = harness.fit(runs)            # R = -a*exp(H) + b for each run
    law.runs                           # pandas.DataFrame, one row per run
    law.plot("entropy_law")            # matplotlib figure
    harness.diagnose(runs)             # what went wrong in each run: pandas.DataFrame
    harness.register.figure(...)       # and other extensions: docs/plugins.md

Each name is imported on first use, so that `import harness` itself is fast.
"""

TYPE_CHECKING = False  # importing typing could pick up a typing.py of the working directory
if TYPE_CHECKING:
    from harness import register
    from harness.api import Law, Runs, diagnose, fit, load

__version__ = "0.2.0"
__all__ = ["Law", "Runs", "__version__", "diagnose", "fit", "load", "register"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "register":
        import importlib

        return importlib.import_module("harness.register")
    from harness import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
