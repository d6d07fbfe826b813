"""What a run changes in its process ends with it."""

from __future__ import annotations

import gc

import pytest
import scipy.special
from threadpoolctl import threadpool_info, threadpool_limits

from beamscore.transforms.process import gc_paused, one_blas_thread


def test_the_collector_is_off_within_and_on_again_behind_also_after_an_error() -> None:
    seen: list[bool] = []
    with pytest.raises(IndexError), gc_paused():
        seen.pop()
    assert gc.isenabled()
    with gc_paused():
        seen.append(gc.isenabled())
    assert seen == [False]
    assert gc.isenabled()


def test_one_that_was_off_stays_off() -> None:
    with gc_paused():
        with gc_paused():
            pass
        assert not gc.isenabled()


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_linear_algebra_uses_one_thread_until_the_last_has_left() -> None:
    assert scipy.special.ndtr(0) == 0.5
    with threadpool_limits(limits=2, user_api="blas"):
        with one_blas_thread:
            with one_blas_thread:
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}
