"""What a supporter's reply can do: the acts of the tabular policy and of the phrase grammar."""

from __future__ import annotations

STRATEGIES = (
    "question",
    "restate",
    "reflect",
    "disclose",
    "affirm",
    "suggest",
    "inform",
    "other",
)
"""ESConv's eight support strategies (Liu et al. 2021, arXiv 2106.01144, section 3)."""
