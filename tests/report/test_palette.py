"""Colours are told apart by colour-blind readers, and what is drawn with them in grey."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.report.figures import palette

Matrix = NDArray[np.float64]
SEEN = {
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
"""Linear RGB as such a reader sees it (Machado, Oliveira and Fernandes 2009, severity 1)."""
TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                   [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip
WHITE = np.array([0.95047, 1.0, 1.08883])
FAR, NEAR_IN_GREY, LEAST_IN_GREY = 20.0, 10.0, 4.5
"""CIE 1976 distances: about 2.3 is just noticeable side by side; in grey, of lightness alone."""


def linear(colour: str) -> Matrix:
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: Matrix) -> Matrix:
    relative = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(relative > 0.008856, np.cbrt(relative), 7.787 * relative + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


PAIRS = list(itertools.combinations(range(len(palette.COLOURS)), 2))


@pytest.mark.parametrize("reader", SEEN)
@pytest.mark.parametrize("pair", PAIRS)
def test_colours_are_far_apart_for_colour_blind_readers(reader: str, pair: tuple[int, int]) -> None:
    one, other = (lab(SEEN[reader] @ linear(palette.colour(slot))) for slot in pair)
    assert np.linalg.norm(one - other) > FAR


@pytest.mark.parametrize("pair", PAIRS)
def test_in_grey_lightness_differs_and_where_little_markers_and_dashes_do(
    pair: tuple[int, int],
) -> None:
    one, other = (lab(linear(palette.colour(slot)))[0] for slot in pair)
    assert abs(one - other) > LEAST_IN_GREY
    if abs(one - other) < NEAR_IN_GREY:
        assert len({palette.marker(slot) for slot in pair}) == 2
    assert len({palette.dashes(slot) for slot in pair}) == 2


def test_every_colour_stands_out_from_the_paper_and_from_the_grey_of_what_is_behind() -> None:
    for colour in palette.COLOURS:
        assert lab(linear(colour))[0] < 80
        assert np.linalg.norm(lab(linear(colour)) - lab(linear(palette.GREY))) > FAR


def test_marker_and_colour_together_repeat_after_all_pairs() -> None:
    pairs = {(palette.colour(slot), palette.marker(slot)) for slot in range(35)}
    assert len(pairs) == 35
