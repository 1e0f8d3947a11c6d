"""The public API: run folders and their law as pandas data frames.

Everything is read from run folders and other programs' logs; nothing is written except by
`Law.save`. Use it through the package: `harness.load`, `harness.fit`, `harness.diagnose`.
"""

from harness.api.diagnosed import diagnose
from harness.api.fitted import Law, fit
from harness.api.runs import Run, Runs, load

__all__ = ["Law", "Run", "Runs", "diagnose", "fit", "load"]
