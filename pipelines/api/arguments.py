"""The arguments of the Python API as a configuration, which the checks of the command then judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from ..config import settings
from ..config.errors import UsageError
from ..config.explain import not_positive
from ..config.settings import Configuration, Settings
from ..config.systems import DEFAULT_SYSTEM

SampleIdType = Literal["any", "string"]


def check_arguments(
    benchmark: str,
    options: Mapping[str, Any] | None = None,
    *,
    replicates: Any = 200,
    confidence: Any = 0.95,
    seed: Any = 0,
    processes: Any = 1,
    predictions: list[str] | None = None,
    systems: Sequence[str] = (DEFAULT_SYSTEM,),
    **arguments: Any,
) -> Configuration:
    """Returns the configuration that arguments give.

    systems: the names of the systems. arguments: those that have the name of their setting.

    Raises ValueError where one is wrong, in the words of the command.
    """
    bootstrap = {"replicates": _plain(replicates), "confidence": _plain(confidence), "seed": _plain(seed)}
    shared = {name: _plain(value) for name, value in arguments.items()}
    try:
        settings.check_benchmark(benchmark)
        own = _options(options, benchmark)
        raw = {
            **own,
            **shared,
            "benchmark": benchmark,
            "bootstrap": bootstrap,
            "predictions": {name: predictions or [] for name in systems},
        }
        configuration = settings.check(raw, benchmark)
        settings.check_field_sides(configuration.settings)
        number = _plain(processes)
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise UsageError(f"processes: {not_positive(number)}")
    except UsageError as error:
        raise ValueError(str(error)) from None
    return configuration


def _options(options: Mapping[str, Any] | None, benchmark: str) -> dict[str, Any]:
    """Returns options, none of which is a setting: that would be a second way to give an argument."""
    if not isinstance(options, Mapping | None):
        raise UsageError(f"{benchmark}: options: must be a mapping of names to values, not {type(options).__name__}")
    shared = {field.encode_name for field in msgspec.structs.fields(Settings)}
    for name in options or {}:
        if name in shared:
            raise UsageError(f"{benchmark}: options: {name} is a setting of every benchmark, not an option of this one")
    return dict(options or {})


def _plain(value: Any) -> Any:
    """Returns a value as YAML would give it: numbers of NumPy as Python's, other collections than text as lists."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return list(value)
    return value
