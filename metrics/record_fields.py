"""The fields of a record type."""

from __future__ import annotations

import msgspec


def record_fields(kind: type[msgspec.Struct]) -> dict[str, bool]:
    """Returns the fields of a record type, and of each whether its value may be plain text.

    Raises TypeError where `kind` is not a struct.
    """
    info = msgspec.inspect.type_info(kind)
    if not isinstance(info, msgspec.inspect.StructType):
        raise TypeError(f"{kind} is no record type")
    return {field.encode_name: _may_be_text(field.type) for field in info.fields}


def text_fields(kind: type[msgspec.Struct]) -> dict[str, bool]:
    """Returns the fields of a record type whose value may be plain text, and of each whether a record must have it.

    Raises TypeError where `kind` is not a struct.
    """
    may_be_text = record_fields(kind)
    required = {field.encode_name for field in msgspec.structs.fields(kind) if field.required}
    return {name: name in required for name, is_text in may_be_text.items() if is_text}


def _may_be_text(info: msgspec.inspect.Type) -> bool:
    inspect = msgspec.inspect
    if isinstance(info, inspect.UnionType):
        return any(_may_be_text(each) for each in info.types)
    return isinstance(info, (inspect.StrType, inspect.AnyType, inspect.LiteralType, inspect.EnumType))
