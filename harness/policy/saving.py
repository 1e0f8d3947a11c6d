"""What a full disk is to the libraries that save models: none of them raises OSError."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from safetensors import SafetensorError

UNWRITTEN = re.compile(r"I/O error|inline_container|\(os error \d+\)")
"""What torch, safetensors and tokenizers say of a file that could not be written."""


@contextlib.contextmanager
def saving() -> Iterator[None]:
    """Raise OSError where a library could not write; tokenizers raises a bare Exception."""
    try:
        yield
    except Exception as error:
        known = isinstance(error, RuntimeError | SafetensorError) or type(error) is Exception
        if not known or not UNWRITTEN.search(str(error)):
            raise
        raise OSError(str(error)) from error
