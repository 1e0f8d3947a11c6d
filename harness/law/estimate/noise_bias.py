"""What exp() makes of noise on H: E exp(H + e) = exp(H + var(e) / 2) for a normal e.

So x = exp(H) is too large where H is noisy, most where it is high, and a too small by a per cent or
two however long the run is. An instrument is no remedy: its bins hold the same bias.
"""

from __future__ import annotations

import numpy as np

from harness.law.estimate import binning, numbers
from harness.law.results import Floats

FEWEST_BINS = 3


def taken_off(entropy: Floats, x: Floats, noise_share: float) -> Floats:
    """x without that bias; `x` itself where there is none to be seen. Shape (n,).

    How the noise goes along the run is what H does in each bin around the line through the bins
    beside it; how much of that is noise, `noise_share` of the variance of x says.
    """
    label = binning.labels(len(x), binning.fit_bins(len(x)))
    own = binning.means(entropy, label)
    if len(own) < FEWEST_BINS or noise_share == 0:
        return x
    around = binning.clipped(entropy - binning.between_neighbours(own, len(x))) ** 2
    variance = binning.spread_out(binning.means(around, label), len(x))
    moved, most = numbers.centred(x), float(x**2 @ variance)
    if most == 0:
        return x
    share = min(noise_share * float(moved @ moved) / most, 1.0)
    return x * np.exp(-share * variance / 2)
