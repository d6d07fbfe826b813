"""What Beam finds out again for each step of a pipeline, kept: a good part of the time of the pipelines of these tests.

`view_as` makes a parser of the options of a class and parses all flags, some five hundred times in a run; and each step
asks several times which state its DoFn has, by the signatures of all its methods. The answers are always the same.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms import userstate
from apache_beam.transforms.core import CallableWrapperDoFn

_parse: Any = PipelineOptions.__init__
_look: Any = userstate.get_dofn_specs
_parsed: dict[Any, dict[str, Any]] = {}
_specs: dict[Any, Any] = {}


def install() -> None:
    """Keeps the answers from now on."""
    PipelineOptions.__init__ = _init_options
    userstate.get_dofn_specs = _get_dofn_specs


def _init_options(self: Any, flags: Sequence[str] | None = None, **changed: Any) -> None:
    key = None if flags is None or isinstance(flags, str) else (type(self), *flags)
    if key is None or key not in _parsed:
        _parse(self, flags, **changed)
        if key is not None:
            _parsed[key] = _copied(vars(self._visible_options))
        return
    found = _copied(_parsed[key])
    self._flags, self._visible_options, self._all_options = flags, Namespace(**found), {**found, **changed}


def _copied(values: dict[str, Any]) -> dict[str, Any]:
    """Returns options with lists of their own, to which Beam adds experiments."""
    return {name: list(value) if isinstance(value, list) else value for name, value in values.items()}


def _get_dofn_specs(dofn: Any) -> Any:
    # What is made of a function has the parameters of the function.
    key = (type(dofn), getattr(dofn, "_fn", None)) if isinstance(dofn, CallableWrapperDoFn) else type(dofn)
    try:
        if key not in _specs:
            _specs[key] = _look(dofn)
    except TypeError:
        return _look(dofn)
    return _specs[key]
