"""How a worker uses the processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

from .process import Shared

_limits: list[Any] = []


def one_blas_thread() -> None:
    """Makes linear algebra in this process use one thread, until the last `blas_threads_restored` is left.

    The matrices here are small, and a runner starts a worker for each core: further threads only spin while they
    wait, which was measured to double the processor time of an evaluation.
    """
    blas = ThreadpoolController().select(user_api="blas")
    if any(library.num_threads != 1 for library in blas.lib_controllers):
        _limits.append(blas.limit(limits=1))


@contextmanager
def _restored() -> Iterator[None]:
    try:
        yield
    finally:
        # The last limit first: a library that was loaded meanwhile has its own number in the limit that met it first.
        while _limits:
            _limits.pop().restore_original_limits()


blas_threads_restored = Shared(_restored)
"""Sets the threads of linear algebra back that `one_blas_thread` has changed within."""


def limited_blas_threads() -> ExitStack:
    """Makes linear algebra use one thread until what it returns is closed, and others have closed theirs."""
    stack = ExitStack()
    stack.enter_context(blas_threads_restored)
    one_blas_thread()
    return stack
