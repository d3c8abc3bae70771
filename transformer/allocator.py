"""The C library's allocator, told to keep what is freed."""

import ctypes
import sys

# The largest block that comes from the heap rather than from a fresh mapping: glibc's own limit.
_HEAP_BLOCK_BYTES = 32 << 20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep_freed_memory(num_bytes: int) -> None:
    """Has the whole process keep up to so many freed bytes at the end of its heap (glibc only).

    Else blocks of a few hundred KiB go back to the system at once, which hands them out again page
    by page and zeroed.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):
            library.mallopt(_M_MMAP_THRESHOLD, _HEAP_BLOCK_BYTES)
            library.mallopt(_M_TRIM_THRESHOLD, num_bytes)
