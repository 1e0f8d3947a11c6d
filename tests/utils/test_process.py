"""What a process sets up for itself."""

import subprocess
import sys

import pytest

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
