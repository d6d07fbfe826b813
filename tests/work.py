"""Counts the work of a call without a clock."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def executed_lines(call: Callable[[], object]) -> int:
    """Returns how many lines of Python `call` executes, the same on every machine; a C function is one line."""
    lines = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines
