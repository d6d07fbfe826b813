"""Converts the arguments of the Python API to a configuration, with the checks of the command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, TypedDict

import msgspec

from ...metrics.common.text import nearest
from ...metrics.scoring import Missing
from ..config import settings
from ..config.errors import UsageError, not_positive
from ..config.settings import DEFAULT_SYSTEM, BootstrapSettings, Configuration, Settings


class Arguments(TypedDict, total=False):
    """The arguments that `evaluate`, `Scorer` and `Evaluate` share; their defaults are those of the command.

    options: those of the benchmark's configuration. missing ("wrong"), slices, cluster, repeats (False), derived,
    fields, sample_id_type ("any"): as the settings of the same name. replicates (200), confidence (0.95), seed (0): of
    the intervals; without replicates there are no intervals.
    """

    options: Mapping[str, Any] | None
    missing: Missing
    slices: Sequence[str]
    cluster: str | None
    repeats: bool
    derived: Mapping[str, str] | None
    replicates: int
    confidence: float
    seed: int
    fields: Mapping[str, Mapping[str, str]] | None
    sample_id_type: Literal["any", "string"]


def check_arguments(
    benchmark: str,
    arguments: Arguments,
    *,
    processes: Any = 1,
    systems: Sequence[str] = (DEFAULT_SYSTEM,),
    predictions: Sequence[str] = (),
    ground_truth: Sequence[str] = (),
    limits: Mapping[str, int] | None = None,
) -> Configuration:
    """Returns the configuration for the arguments.

    arguments: those that a user gave by name. systems: the names of the systems. predictions, ground_truth: the paths
    of each side; empty for records in memory.

    Raises ValueError if one is wrong, with the message of the command, TypeError if there is no such argument.
    """
    if unknown := arguments.keys() - Arguments.__annotations__:
        raise TypeError(f"there is no argument {min(unknown)}{nearest(min(unknown), Arguments.__annotations__)}")
    values: dict[str, Any] = {**arguments, "ground_truth": ground_truth, "limits": limits or {}}
    options = values.pop("options", None)
    values |= {name: values.get(name) or {} for name in ("fields", "derived")}
    shared = {name: yaml_value(value) for name, value in values.items()}
    bootstrap = {name: shared.pop(name) for name in BootstrapSettings.__struct_fields__ if name in shared}
    try:
        own = _options(options, benchmark, settings.check_benchmark(benchmark).options_type)
        sides = {name: list(predictions) for name in systems}
        raw = {**own, **shared, "benchmark": benchmark, "bootstrap": bootstrap, "predictions": sides}
        configuration = settings.check(raw, benchmark)
        settings.check_field_sides(configuration.settings)
        settings.check_field_names(configuration)
        number = yaml_value(processes)
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise UsageError(f"processes: {not_positive(number)}")
    except UsageError as error:
        raise ValueError(str(error)) from None
    return configuration


def _options(options: Any, benchmark: str, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Returns the options; raises UsageError if one is not of this kind, such as a setting, which is an argument."""
    if not isinstance(options, Mapping | None):
        raise UsageError(f"{benchmark}: options: must be a mapping of names to values, not {type(options).__name__}")
    shared, own = settings.keys_of(Settings), settings.keys_of(kind)
    for name in options or {}:
        if name in shared:
            raise UsageError(f"{benchmark}: options: {name} is a setting of every benchmark, not an option of this one")
        if name not in own:
            raise settings.unknown_key(benchmark, name, own, benchmark)
    return {name: yaml_value(value) for name, value in (options or {}).items()}


def in_python(message: str) -> str:
    """Returns a message of the command with the names of options as arguments."""
    return _OPTION.sub(lambda match: match[1].replace("-", "_"), message)


_OPTION = re.compile(r"(?<!\S)--(output|ground-truth|predictions)\b")


def yaml_value(value: Any) -> Any:
    """Returns a value as YAML would load it: NumPy numbers as Python numbers, members of an enum as their values, and
    collections other than text as lists.
    """
    if isinstance(value, Enum):
        return yaml_value(value.value)
    if isinstance(value, Mapping):
        return {name: yaml_value(each) for name, each in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [yaml_value(each) for each in value]
    return value
