"""Wrong names of fields, such as `x_axis` for `x-axis`.

Unknown members of a record are ignored, so that what is under a wrong name would not be scored, without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar, cast

import msgspec
from msgspec import UNSET

StructT = TypeVar("StructT", bound=msgspec.Struct)


def wrong_names(
    names: Mapping[str | tuple[str, ...], Sequence[str]], advice: str = ""
) -> Callable[[type[StructT]], type[StructT]]:
    """Returns a decorator of a record type: a member with a wrong name is refused if the field that is meant is absent.

    Otherwise, or if it is null, the member has no part in the record. A `__post_init__` of the type is called first.

    Args:
        names: the wrong names that are refused, by the name of the field in a record, or of several that may be meant.
        advice: the end of the message.
    """
    meant = {
        wrong: (fields,) if isinstance(fields, str) else fields for fields, others in names.items() for wrong in others
    }

    def decorated(kind: type[StructT]) -> type[StructT]:
        own = getattr(kind, "__post_init__", None)
        # Those of a decorated base are among its fields, and have other numbers.
        holders = {wrong: f"wrong_name_{n}" for n, wrong in enumerate(meant, len(kind.__struct_fields__))}
        # A chart may have thousands of points, nearly all without a wrong name.
        read = attrgetter(*holders.values())
        none_given = (UNSET,) * len(holders) if len(holders) > 1 else UNSET
        attributes = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))

        def refuse(record: msgspec.Struct) -> None:
            if own is not None:
                own(record)
            if read(record) == none_given:
                return
            given = [wrong for wrong, holder in holders.items() if getattr(record, holder) is not UNSET]
            found = [
                wrong
                for wrong in given
                if getattr(record, holders[wrong]) is not None
                and all(_is_absent(getattr(record, attributes[name])) for name in meant[wrong])
            ]
            if found:
                right = dict.fromkeys(f"`{name}`" for wrong in found for name in meant[wrong])
                raise ValueError(f"it has {', '.join(found)}, not {' or '.join(right)}{advice}")
            for wrong in given:
                msgspec.structs.force_setattr(record, holders[wrong], UNSET)

        parameters = getattr(kind, "__parameters__", ())
        generic = {"__orig_bases__": (cast(Any, kind)[parameters],)} if parameters else {}
        struct = msgspec.defstruct(
            kind.__name__,
            [(holder, Any, msgspec.field(name=wrong, default=UNSET)) for wrong, holder in holders.items()],
            bases=(kind,),
            module=kind.__module__,
            namespace={"__doc__": kind.__doc__, "__post_init__": refuse, **generic},
            kw_only=True,
        )
        return cast(type[StructT], struct)

    return decorated


def _is_absent(value: Any) -> bool:
    """Returns whether a value is null, or an object of which all fields are: `"axes": {}` is no answer."""
    if isinstance(value, msgspec.Struct):
        return all(map(_is_absent, msgspec.structs.astuple(value)))
    return value is None or value is UNSET
