"""YAML of unknown origin: read strictly, and within bounds that no nesting, alias or number can break."""

from __future__ import annotations

import re
from typing import Any

import yaml

from .errors import one_line

MAX_BYTES = 1 << 20
"""The size of a text, comments included."""

MAX_NODES = 20_000
"""Values and keys of a text, each counted as often as aliases repeat it."""

MAX_DEPTH = 50
MAX_NUMBER_LENGTH = 100

_SURROGATE = re.compile("[\ud800-\udfff]")


def load_yaml(text: bytes | str) -> Any:
    """Returns the value of one YAML document.

    Raises yaml.YAMLError where it is no YAML, holds a key twice, or breaks a bound of this module.
    """
    size = len(text)
    if size > MAX_BYTES:
        raise yaml.YAMLError(f"it has more than the {MAX_BYTES} bytes that are allowed")
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # The parser's own constructors raise these for a value that is not what its tag says, such as !!bool x.
        raise yaml.YAMLError(f"a value is not what its tag says: {error!r}") from error


def yaml_problem(error: yaml.YAMLError, with_place: bool) -> str:
    """Returns what is wrong with a text that is not YAML, in one line; with_place: and where in it."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return one_line(error)
    mark = error.problem_mark
    reason = " ".join(", ".join(each for each in (error.context, error.problem) if each).split())[:200]
    return f"line {mark.line + 1}, column {mark.column + 1}: {reason}" if with_place else reason


def _error(problem: str, mark: yaml.Mark) -> yaml.YAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


class _StrictLoader(yaml.SafeLoader):
    """YAML as SafeLoader reads it, but a key that stands twice is an error, and 1e-9 is a number."""

    def __init__(self, stream: bytes | str) -> None:
        super().__init__(stream)
        self._depth = 0
        self._composed = 0
        self._sizes: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Composes a node and counts those below it, before anything is made of them."""
        mark, is_alias = self.peek_event().start_mark, self.check_event(yaml.AliasEvent)  # type: ignore[no-untyped-call]
        self._composed += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _error(f"nested deeper than {MAX_DEPTH} levels", mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is not None and node not in self._sizes:
            if is_alias:
                raise _error("an alias refers to a value that contains it", mark)
            self._sizes[node] = 1 + sum(self._sizes[child] for child in _children(node))
        if self._composed > MAX_NODES or (node is not None and self._sizes[node] > MAX_NODES):
            raise _error(f"more than {MAX_NODES} values, counted as often as aliases repeat them", mark)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Makes a value of a node: a number of a text of bounded length, and text only where it can be written."""
        if isinstance(node, yaml.ScalarNode) and not node.value.isascii() and _SURROGATE.search(node.value):
            raise _error("half of a surrogate pair", node.start_mark)
        is_number = node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
        if is_number and len(node.value) > MAX_NUMBER_LENGTH:
            raise _error(f"a number of more than {MAX_NUMBER_LENGTH} characters", node.start_mark)
        return super().construct_object(node, deep)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Makes a mapping, once its keys are known to be plain text and different."""
        seen = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _error("a key must be plain text", key_node.start_mark)
            if key_node.value in seen:
                raise _error(f"the key {key_node.value} is given twice", key_node.start_mark)
            seen.add(key_node.value)
        return dict(super().construct_mapping(node, deep))


_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [each for pair in node.value for each in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
