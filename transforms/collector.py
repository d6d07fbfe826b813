"""Keeps the cyclic garbage collector from looking at what is no garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from .process import Shared

OBJECTS_PER_COLLECTION = 200_000
"""How many more objects than there were may be there before the collector looks for those that only hold each other."""

_usual: tuple[int, int, int] | None = None
_has_frozen = False


@contextmanager
def no_collection() -> Iterator[None]:
    """Turns the cyclic garbage collector off within.

    While millions of lists or objects of one record come into being, it would look at all of them again and again: a
    record of 16 MiB that holds nothing but empty lists took five times as long to decode. None of them is garbage.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def freeze() -> None:
    """Makes the collector forget all objects that there are and look at others seldom, until `unfreeze`.

    A worker that is set up holds several hundred thousand objects of its libraries, which stay, and a batch makes as
    many, which go when it is done: looking at them again and again took a sixth of the time of a run.
    """
    global _usual, _has_frozen
    if _has_frozen or not gc.get_freeze_count():
        # What somebody else has frozen could not be told apart when it is set back.
        gc.freeze()
        _has_frozen = True
    if _usual is None:
        _usual = gc.get_threshold()
        gc.set_threshold(OBJECTS_PER_COLLECTION, *_usual[1:])


def unfreeze() -> None:
    """Makes the collector look at all objects again, as often as before; a no-op where `freeze` was not called."""
    global _usual, _has_frozen
    if _usual is not None:
        gc.set_threshold(*_usual)
    if _has_frozen:
        gc.unfreeze()
    _usual, _has_frozen = None, False


@contextmanager
def _unfrozen() -> Iterator[None]:
    try:
        yield
    finally:
        unfreeze()


collector_restored = Shared(_unfrozen)
"""Undoes `freeze` at its end, also where a runner does not tear a failed worker down."""
