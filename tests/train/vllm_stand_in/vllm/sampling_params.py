"""The one name that a run takes from here."""

import enum


class RequestOutputKind(enum.Enum):
    FINAL_ONLY = 2
