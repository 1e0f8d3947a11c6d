"""Which values of a config say where something is: a path, an address, a variable.

What is made to be published, such as the card of an exported model, leaves them out.
"""

from __future__ import annotations

import re
from typing import Any

from harness.config import keys

PATH = re.compile(r"(?:^|[\s,:={}\[\]()'\"])(?:/|~|\.{1,2}/)\S|://")
"""In a value as text: an absolute, a home or a relative path, or an address."""


def names_location(key: str, value: Any) -> bool:
    """Whether the dotted `key` is declared to hold a location, or `value` has a path or an address
    in it, as what a plug-in is given may have.
    """
    declared = keys.keys().get(key)
    return (declared is not None and declared.is_location) or bool(PATH.search(str(value)))
