"""Processor time and peak memory of a piece of work, which may have a process of its own."""

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from beamscore.transforms.process import one_blas_thread

Result = TypeVar("Result")


class Cost(NamedTuple):
    """Processor seconds of a process and its children, the peak of its memory in MiB, and seconds on the clock."""

    seconds: float
    mebibytes: float
    wall_seconds: float


def processor_seconds() -> float:
    """Returns the processor time of this process and of the children that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_bytes() -> int:
    """Returns the peak of this process and of ended children; unlike VmHWM, `ru_maxrss` starts with the parent's."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return max(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, int(line.split()[1])) * 1024


def cost_of(work: Callable[..., object], *arguments: Any) -> Cost:
    """Does the work here, and returns what it cost; the memory is the peak so far."""
    before, started = processor_seconds(), time.monotonic()
    work(*arguments)
    return Cost(processor_seconds() - before, peak_bytes() / 2**20, time.monotonic() - started)


def alone(
    work: Callable[..., Result], *arguments: Any, seconds: float | None = None, most_bytes: int = resource.RLIM_INFINITY
) -> Result:
    """Returns what `work` does in a process of its own; raises TimeoutError, or ChildProcessError without a result."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, most_bytes, work, arguments))
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            raise TimeoutError
        result: Result = receiver.recv()
    except EOFError:
        process.join()
        raise ChildProcessError(f"the process exited with code {process.exitcode}") from None
    finally:
        assert process.pid is not None
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
        receiver.close()
    return result


def _send(sender: Connection, most_bytes: int, work: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    with one_blas_thread:
        sender.send(work(*arguments))
