"""The second scripted user, with dynamics, a reader and wording of its own.

It shares with the first user the personas and their lives, the lines about intentions, the
protocol, the draws and the rules for ending a conversation (`harness.simulator`). It imports
nothing from `harness.simulator.scripted`; an import contract checks this.
"""

from typing import Final

VERSION: Final = 2
"""Increase it whenever the same reply gets a different answer."""
