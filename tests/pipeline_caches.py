"""What each run of a pipeline finds out again, kept: a good part of the time of the pipelines of these tests.

`view_as` parses all flags, some five hundred times in a run, and each step asks several times which state its DoFn has:
the answers are always the same. What nothing of ours reads is left out: where each type hint comes from, a look at the
source of each DoFn, the size of each side input, and waiting for the disk.
"""

import gc
import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType, MethodType
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.worker import statecache
from apache_beam.transforms import core, userstate
from apache_beam.typehints import decorators

from beamscore.pipelines.commands import main
from beamscore.pipelines.runners import launch
from beamscore.pipelines.runs import provenance

_parse: Any = PipelineOptions.__init__
_parsed: dict[Any, dict[str, Any]] = {}


def install() -> None:
    """Keeps the answers from now on, and the collector of garbage away from what was imported."""
    options: Any = PipelineOptions
    options.__init__ = _init_options
    options._visible_option_list = lambda self: sorted(vars(self._visible_options))
    userstate.get_dofn_specs = _kept(userstate.get_dofn_specs, _dofn)
    core.get_function_args_defaults = _kept(core.get_function_args_defaults, _function)
    core._check_fn_use_yield_and_return = lambda _: False
    hints: Any = decorators.IOTypeHints
    hints._make_origin = lambda *_, **__: []
    statecache.get_deep_size = lambda *_: 1
    for module, name in ((launch, "option_parser"), (main, "parser"), (provenance, "version")):
        setattr(module, name, cache(getattr(module, name)))
    disk: Any = os
    disk.fsync = lambda _: None
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _init_options(self: Any, flags: Sequence[str] | None = None, **changed: Any) -> None:
    key = None if flags is None or isinstance(flags, str) else (type(self), *flags)
    if key not in _parsed:
        _parse(self, flags, **changed)
        if key is not None:
            _parsed[key] = _copied(vars(self._visible_options))
        return
    found = _copied(_parsed[key])
    self._flags, self._visible_options, self._all_options = flags, Namespace(**found), {**found, **changed}


def _copied(values: dict[str, Any]) -> dict[str, Any]:
    """Returns options with lists of their own, to which Beam adds experiments."""
    return {name: list(value) if isinstance(value, list) else value for name, value in values.items()}


def _kept(look: Callable[[Any], Any], key_of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    answers: dict[Any, Any] = {}

    def kept(subject: Any) -> Any:
        key = key_of(subject)
        if key is None or key not in answers:
            answers[key] = look(subject)
        return answers[key]

    return kept


def _function(function: Any) -> Any:
    """Returns what the parameters of a function or method hang on; None for another callable, or one around another."""
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType) or {"__wrapped__", "__signature__"} & vars(plain).keys():
        return None
    return plain is function, plain if plain.__defaults__ else plain.__code__


def _dofn(dofn: Any) -> Any:
    # What is made of a function has the parameters of the function.
    if not isinstance(dofn, core.CallableWrapperDoFn):
        return type(dofn)
    function = _function(dofn._process_argspec_fn())
    return function and (type(dofn), function)
