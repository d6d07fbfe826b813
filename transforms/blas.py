"""How a worker uses the processor."""

from __future__ import annotations

from threadpoolctl import threadpool_limits


def one_blas_thread() -> None:
    """Makes linear algebra in this process use one thread.

    The matrices here are small, and a runner starts a worker for each core: further threads only spin while they
    wait, which was measured to double the processor time of an evaluation.
    """
    threadpool_limits(limits=1, user_api="blas")
