"""What a process sets up for itself."""

import os
import subprocess
import sys

import pytest

from harness.errors import ConfigError
from harness.utils import process

HOLES = """
import ctypes, sys
from harness.utils import process

large, count = 2**20, 100
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
may = process.return_large_blocks() if sys.argv[1] == "returned" else None
libc.free(libc.malloc(30 * large))  # glibc raises its bound by what is freed
blocks = [libc.malloc(large) for _ in range(count)]
for block in blocks:
    ctypes.memset(block, 1, large)
for block in blocks[::2]:
    libc.free(block)
status = open("/proc/self/status").read()
print(may, int(status.split("VmRSS:")[1].split()[0]) // 1024)
"""


def resident_mb(how: str) -> tuple[str, int]:
    """What was returned, and memory in use after every second block of 1 MB of 100 was freed."""
    said = subprocess.run([sys.executable, "-c", HOLES, how], capture_output=True, check=True)
    may, size = said.stdout.split()
    return may.decode(), int(size)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's")
def test_large_blocks_that_are_freed_between_others_are_returned() -> None:
    _, kept = resident_mb("kept")
    may, returned = resident_mb("returned")
    assert may == "True"
    assert 45 <= kept - returned <= 55


@pytest.mark.parametrize("umask", ["-27", "0o27", " 27", "", "28", "7777"])
def test_a_umask_that_is_no_octal_number_is_refused(
    umask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(process.UMASK, umask)
    before = os.umask(0o077)
    try:
        with pytest.raises(ConfigError, match=f"must be an octal number as in 027, got '{umask}'"):
            process.keep_private()
        for accepted in ("027", "27", "0027"):
            monkeypatch.setenv(process.UMASK, accepted)
            process.keep_private()
            assert os.umask(0o077) == 0o027
    finally:
        os.umask(before)
