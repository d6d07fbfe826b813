"""Wrong names of fields, such as `x_axis` for `x-axis`.

Unknown members of a record are ignored, so that what is under a wrong name would not be scored, without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec
from msgspec import UNSET

StructT = TypeVar("StructT", bound=msgspec.Struct)


def wrong_names(names: Mapping[str, Sequence[str]], advice: str = "") -> Callable[[type[StructT]], type[StructT]]:
    """Returns a decorator of a frozen record type, which then refuses wrong names of fields that are absent.

    Args:
        names: of each field, by its name in a record, the wrong names that are refused.
        advice: the end of the message.
    """

    def decorated(kind: type[StructT]) -> type[StructT]:
        attributes = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
        wrong = [(each, name, attributes[name]) for name, others in names.items() for each in others]
        numbered = [(f"wrong_name_{number}", *each) for number, each in enumerate(wrong)]

        def refuse(record: msgspec.Struct) -> None:
            refuse_wrong_names(record, numbered, advice)

        struct = msgspec.defstruct(
            kind.__name__,
            [(attribute, Any, msgspec.field(name=each, default=UNSET)) for attribute, each, _, _ in numbered],
            bases=(kind,),
            module=kind.__module__,
            namespace={"__doc__": kind.__doc__, "__post_init__": refuse},
            frozen=True,
            gc=kind.__struct_config__.gc,
        )
        return cast(type[StructT], struct)

    return decorated


def refuse_wrong_names(record: msgspec.Struct, names: Sequence[tuple[str, str, str, str]], advice: str = "") -> None:
    """Unsets the fields of wrong names, so that they have no part in the hash of a record.

    Args:
        record: a record that was just made.
        names: of each wrong name, the attribute that holds its value, the name, and the name and the attribute of
            the field that is meant.
        advice: the end of the message.

    Raises:
        ValueError: if a wrong name has a value and the field that is meant has none.
    """
    given = [each for each in names if getattr(record, each[0]) is not UNSET]
    refused = [
        (wrong, f"`{name}`")
        for holder, wrong, name, attribute in given
        if getattr(record, holder) is not None and getattr(record, attribute) is None
    ]
    if refused:
        found, meant = map(dict.fromkeys, zip(*refused, strict=True))
        raise ValueError(f"it has {', '.join(found)}, not {' or '.join(meant)}{advice}")
    for holder, *_ in given:
        msgspec.structs.force_setattr(record, holder, UNSET)
