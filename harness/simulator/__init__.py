"""The simulated users that the policy talks to: scripted, or served by a language model.

Imports numpy at most, except that language-model readers import torch.
"""

VERSION = 3
"""Version of the scripted user's behaviour. Increase it whenever the same reply gets a different
answer, so that cards, start models and runs made with different users are never mixed.
"""
