"""The users that the policy talks to, scripted or served by a model.

numpy at most, but torch for readers with a language model.
"""

VERSION = 3
"""Version of what the scripted user reads, feels and says: one more where the same reply gets
another answer, so that cards, start models and runs of unlike users are never taken for one
another.
"""
