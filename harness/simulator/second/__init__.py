"""The second scripted user: other dynamics, another reader and words of its own.

It shares with the first the personas and their lives, the lines on what users came for, the
protocol, draws and rules of ending (`harness.simulator`); it imports nothing of
`harness.simulator.scripted`, which an import contract checks.
"""

from typing import Final

VERSION: Final = 2
"""Changes when users say or feel other things than before."""
