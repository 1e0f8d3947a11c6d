"""Means, medians and quantiles to the last bit of numpy's and scipy's, without their cost a call;
and what an autoregression carries on, to within rounding.

A run needs hundreds of them on short arrays, where numpy's own take longer to begin than to do;
and scipy.stats and scipy.signal, for all their other contents, half a second to import each.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from harness.law.results import Floats

_MEDIAN_OF_5 = ((0, 1), (3, 4), (0, 3), (1, 4), (1, 2), (2, 3), (1, 2))
_MEDIAN_OF_7 = (
    *((0, 5), (0, 3), (1, 6), (2, 4), (0, 1), (3, 5), (2, 6)),
    *((2, 3), (3, 6), (4, 5), (1, 4), (1, 3), (3, 4)),
)
NEGLIGIBLE = 1e-20
"""Beside 1, as the share of a value that is carried on."""
_EXCHANGES = {5: _MEDIAN_OF_5, 7: _MEDIAN_OF_7}
"""Compare-exchanges after which the middle place holds the median."""


def mean(values: Floats) -> float:
    """At least one value."""
    return float(np.add.reduce(values) / len(values))


def last_tenth(values: Floats) -> Floats:
    """Of one value at least."""
    return values[-max(1, len(values) // 10) :]


def row_means(rows: Floats) -> Floats:
    """Shape (rows, 1)."""
    result: Floats = np.add.reduce(rows, axis=1, keepdims=True) / rows.shape[1]
    return result


def centred(values: Floats) -> Floats:
    """Minus their mean."""
    result: Floats = values - np.add.reduce(values) / len(values)
    return result


def median(values: Floats) -> float:
    """At least one value, no NaN."""
    low, high = (len(values) - 1) // 2, len(values) // 2
    parted = np.partition(values, (low, high))  # two places, even alike: a third of the time of one
    return float((parted[low] + parted[high]) / 2)


def running_median(padded: Floats, window: int) -> Floats:
    """Median of each 5 or 7 neighbours, no NaN. Shape (n - window + 1,)."""
    length = len(padded) - window + 1
    places = [padded[at : at + length] for at in range(window)]
    for low, high in _EXCHANGES[window]:
        first, second = places[low], places[high]
        places[low], places[high] = np.minimum(first, second), np.maximum(first, second)
    return places[window // 2]


def carried_on(series: Floats, share: float) -> Floats:
    """y_t = value_t + share y_(t-1) along each row, share in [0, 1). Shape (rows, n), as `series`.

    With L the lag, 1 / (1 - share L) is the product of 1 + (share L)^(2^k): each factor doubles
    how far back the sum reaches, until what is added is below rounding.
    """
    carried, lag = series.copy(), 1
    while lag < carried.shape[1] and share > NEGLIGIBLE:
        carried[:, lag:] += share * carried[:, :-lag]
        share, lag = share**2, 2 * lag
    return carried


def t_quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t."""
    return float(special.stdtrit(freedom, probability))


def t_tail(t: float, freedom: float) -> float:
    """Probability that Student's t is above `t`."""
    return float(special.stdtr(freedom, -t))


def f_tail(f: float, above: float, below: float) -> float:
    """Probability that F with that many degrees of freedom above and below is above `f`."""
    return float(special.fdtrc(above, below, f))
