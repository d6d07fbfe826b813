"""The records of the traffic_rules benchmark, and its options."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from ..common.plain import set_plain
from ..common.wrong_names import wrong_names

Name = str | int
"""The name of a rule or a centerline; 3 and "3" are the same name."""

_of_the_data_set = wrong_names(
    {"properties": ("attr_info",), "centerlines": ("centerline",)},
    "; `beamscore convert traffic_rules` reads label.json",
)


class HasProperties:
    """What has properties: null is absent, and 60.0 is 60."""

    __slots__ = ()
    properties: dict[str, Any] | None

    def __post_init__(self) -> None:
        """Sets the properties in their plain form."""
        set_plain(self, "properties")


@_of_the_data_set
class TrueRule(HasProperties, msgspec.Struct, frozen=True):
    """One rule of a sign: its properties, and the centerlines of the lanes to which it applies."""

    id: Name
    properties: dict[str, Any] | None = None
    centerlines: list[Name] | None = None


@_of_the_data_set
class PredictedRule(HasProperties, msgspec.Struct, frozen=True):
    """One predicted rule; `matches` is the id of the corresponding ground-truth rule."""

    properties: dict[str, Any] | None = None
    centerlines: list[Name] | None = None
    matches: Name | None = None


class TrafficRulesTruth(msgspec.Struct, frozen=True):
    """The rules of one sample."""

    rules: list[TrueRule]


class TrafficRulesPrediction(msgspec.Struct, frozen=True):
    """The rules predicted for one sample; null means no rules."""

    rules: list[PredictedRule] | None = None


class TrafficRulesOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of a run.

    ignore_properties: names of properties to remove from both sides before rules are compared.
    max_steps: a sample that takes more steps is rejected; see metrics.common.budget.
    """

    ignore_properties: tuple[Annotated[str, msgspec.Meta(min_length=1)], ...] = ()
    max_steps: Annotated[int, msgspec.Meta(ge=1)] = 2_000_000
