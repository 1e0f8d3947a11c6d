"""The user the policy talks to. numpy at most; no torch."""

VERSION = 1
"""Of what the scripted user hears, feels and says: one more where the same reply gets another
answer, so that cards, start models and runs of unlike users are never taken for one another.
"""
