"""Covariance of log-probability and advantage, token by token (arXiv 2505.22617, equation 10)."""

from __future__ import annotations

import numpy as np

from harness.train.algorithms.advantages import FloatArray


def token_covariances(logp: FloatArray, advantage: FloatArray) -> FloatArray:
    """Each token's share of the covariance, shape (tokens,), whose mean is the covariance."""
    shares: FloatArray = (logp - logp.mean()) * (advantage - advantage.mean())
    return shares


def covariance(logp: FloatArray, advantage: FloatArray) -> float | None:
    """Over a batch's tokens; None where there is none."""
    return float(token_covariances(logp, advantage).mean()) if len(logp) else None


def top(values: FloatArray, share: float) -> FloatArray:
    """1 at the `share` of tokens with the largest values, at least one of them; 0 elsewhere."""
    count = max(1, int(share * len(values)))
    marks = np.zeros(len(values))
    marks[np.argsort(-values, kind="stable")[:count]] = 1.0
    return marks
