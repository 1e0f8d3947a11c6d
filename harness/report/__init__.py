"""Reports of an analysis: tables on a terminal, figures, and files to keep."""

import logging

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it logs its font cache
