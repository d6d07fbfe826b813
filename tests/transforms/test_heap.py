"""Memory that was freed goes back to the system."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from beamscore.transforms import heap

STATUS = Path("/proc/self/statm")


def resident_pages() -> int:
    return int(STATUS.read_text().split()[1])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library returns memory by itself, or never")
def test_what_is_free_between_what_is_in_use_is_returned() -> None:
    held = [bytes(10_000) for _ in range(20_000)]
    full = resident_pages()
    held = held[::20]
    heap.trim()
    # 200 MB, of which a twentieth is left; the pages of 4 KiB at the edges of what is left stay.
    assert (full - resident_pages()) * 4096 > 100e6
    assert all(len(each) == 10_000 for each in held)


def test_a_system_without_it_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    heap.trim()
