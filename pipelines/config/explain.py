"""Says in words what is wrong with a configuration: the key, what was found, and what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ...metrics.common.text import truncated


def explain(error: msgspec.ValidationError, raw: Any, kind: type[msgspec.Struct]) -> str:
    """Returns what is wrong with `raw` as a `kind`, in one line: the key, what was found and what is allowed."""
    message, _, path = str(error).partition(" - at `")
    in_key = path.startswith("key` in `")
    keys = re.findall(r"\[(?:\.\.\.|\d+)\]|[^.\[\]`$]+", path.removeprefix("key` in `").rstrip("`"))
    info: Any = msgspec.inspect.type_info(kind)
    value = raw
    walked: list[str] = []
    for step in keys:
        key = step if not step.startswith("[") else _failing_key(raw, walked, kind, str(error))
        if key is None:
            break
        value = value.get(key) if isinstance(value, dict) else None
        info = _field_type(info, key)
        walked.append(key)
    unknown = re.match(r"Object contains unknown field `(.*)`", message)
    if unknown and isinstance(info, msgspec.inspect.StructType):
        names = [field.encode_name for field in info.fields]
        name = ".".join([*walked, unknown.group(1)])
        return f"{name}: unknown key{nearest(unknown.group(1), names)}; allowed: {', '.join(names)}"
    if in_key and isinstance(info, msgspec.inspect.DictType):
        found = _failing_key(raw, walked, kind, str(error))
        return f"{'.'.join(walked)}: found the key {shown(found)}; allowed: {_allowed(info.key_type)}"
    allowed = f"; allowed: {_allowed(info)}" if info is not None else f"; {message}"
    return f"{'.'.join(walked) or 'it'}: found {shown(value)}{allowed}"


def _failing_key(raw: Any, walked: Sequence[str], kind: type[msgspec.Struct], message: str) -> Any:
    """Returns the key in the mapping at `walked` that causes the error `message`, which does not name it."""
    mapping = raw
    for key in walked:
        mapping = mapping[key]
    for key in mapping if isinstance(mapping, dict) else ():
        alone: Any = {key: mapping[key]}
        for outer in reversed(walked):
            alone = {outer: alone}
        try:
            msgspec.convert({**raw, **alone}, kind)
        except msgspec.ValidationError as error:
            if str(error) == message:
                return key
    return None


def _field_type(info: Any, key: str) -> Any:
    if isinstance(info, msgspec.inspect.UnionType):
        info = next((each for each in info.types if isinstance(each, msgspec.inspect.StructType)), None)
    if isinstance(info, msgspec.inspect.StructType):
        return next((field.type for field in info.fields if field.encode_name == key), None)
    return info.value_type if isinstance(info, msgspec.inspect.DictType) else None


def _allowed(info: Any) -> str:
    """Says in words what a type allows."""
    inspect = msgspec.inspect
    if isinstance(info, inspect.UnionType):
        return " or ".join(_allowed(each) for each in info.types)
    if isinstance(info, inspect.LiteralType):
        return ", ".join(str(each) for each in info.values)
    if isinstance(info, (inspect.IntType, inspect.FloatType)):
        kind = "an integer" if isinstance(info, inspect.IntType) else "a number"
        bounds = [("at least", info.ge), ("above", info.gt), ("at most", info.le), ("below", info.lt)]
        given = " and ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)
        return f"{kind} {given}".strip()
    if isinstance(info, inspect.StrType):
        return f"text that matches {info.pattern}" if info.pattern else "text"
    if isinstance(info, inspect.ListType):
        return f"a list of {_allowed(info.item_type)}"
    if isinstance(info, inspect.DictType):
        return f"a mapping from {_allowed(info.key_type)} to {_allowed(info.value_type)}"
    if isinstance(info, inspect.StructType):
        return f"a group of keys: {', '.join(field.encode_name for field in info.fields)}"
    return {inspect.BoolType: "true or false", inspect.NoneType: "null"}.get(type(info), type(info).__name__)


def nearest(name: str, names: Sequence[str]) -> str:
    """Returns a hint at the name that was meant, or nothing where none is near."""
    near = difflib.get_close_matches(str(name), names, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def not_positive(found: Any) -> str:
    """Returns that a count of processes, or of anything that there is at least one of, is wrong."""
    return f"must be a whole number of at least 1, not {shown(found)}"


def shown(value: Any) -> str:
    """Returns a value as an error shows it, written as YAML writes it and truncated where it is long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return truncated(repr(value), 80)
