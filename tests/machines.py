"""Machines of a test's own: namespaces of the network of this one, on a bridge between them."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

BRIDGE = "beamscore"
HERE = "10.73.0.1"


@dataclass(frozen=True)
class Machine:
    """A machine, which has the files of this one and an address of its own: what runs a command there."""

    name: str
    address: str

    @property
    def prefix(self) -> list[str]:
        """What stands before a command."""
        return ["ip", "netns", "exec", self.name]


@contextlib.contextmanager
def machines(count: int) -> Iterator[list[Machine]]:
    """Makes machines, which reach this one at HERE; those that a run has left that was killed are removed.

    Raises OSError where it is not allowed to make any.
    """
    made = [Machine(f"{BRIDGE}{number}", f"10.73.0.{number + 2}") for number in range(count)]
    for leftover in [f"link del {BRIDGE}", *(f"netns del {machine.name}" for machine in made)]:
        with contextlib.suppress(OSError):
            _ip(leftover)
    with contextlib.ExitStack() as stack:
        _ip(f"link add {BRIDGE} type bridge")
        stack.callback(_ip, f"link del {BRIDGE}")
        _ip(f"addr add {HERE}/24 dev {BRIDGE}")
        _ip(f"link set {BRIDGE} up")
        for machine in made:
            _ip(f"netns add {machine.name}")
            stack.callback(_ip, f"netns del {machine.name}")
            _ip(f"link add {machine.name} type veth peer name inside netns {machine.name}")
            _ip(f"link set {machine.name} master {BRIDGE} up")
            _ip(f"-n {machine.name} addr add {machine.address}/24 dev inside")
            _ip(f"-n {machine.name} link set inside up")
            _ip(f"-n {machine.name} link set lo up")
        yield made


def _ip(arguments: str) -> None:
    done = subprocess.run(["ip", *arguments.split()], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {arguments}: {done.stderr.strip()}")
