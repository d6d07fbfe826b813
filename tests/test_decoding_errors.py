"""Where a ValueError is expected of msgspec, its own errors are named: not in every version are they ValueErrors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(path for floor in ("metrics", "transforms", "pipelines") for path in (ROOT / floor).rglob("*.py"))


def caught_around_msgspec(tree: ast.AST) -> Iterator[tuple[int, set[str]]]:
    """Yields line and names of the errors that are caught around each block that calls msgspec."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and _calls_msgspec(node.body):
            yield node.lineno, {name for each in node.handlers if each.type for name in _names(each.type)}
        elif isinstance(node, ast.With) and _calls_msgspec(node.body):
            calls = [each.context_expr for each in node.items if isinstance(each.context_expr, ast.Call)]
            suppressed = [call for call in calls if ast.unparse(call.func) == "contextlib.suppress"]
            if suppressed:
                yield node.lineno, {name for call in suppressed for each in call.args for name in _names(each)}


def _calls_msgspec(body: list[ast.stmt]) -> bool:
    calls = (node for each in body for node in ast.walk(each) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func).startswith("msgspec.") for call in calls)


def _names(errors: ast.expr) -> set[str]:
    return {ast.unparse(each) for each in (errors.elts if isinstance(errors, ast.Tuple) else [errors])}


@pytest.mark.parametrize("path", [ROOT / "__init__.py", *FILES], ids=lambda path: str(path.relative_to(ROOT)))
def test_the_errors_of_msgspec_are_caught_by_their_names(path: Path) -> None:
    for line, names in caught_around_msgspec(ast.parse(path.read_text(encoding="utf-8"))):
        assert "ValueError" not in names or "msgspec.MsgspecError" in names, f"{path}:{line}"


def test_the_walk_finds_what_it_looks_for() -> None:
    source = (
        "try:\n    a = f(msgspec.json.decode(b))\nexcept ValueError:\n    a = None\n"
        "with contextlib.suppress(OSError, msgspec.MsgspecError):\n    msgspec.convert(b, int)\n"
        "try:\n    a = json.loads(b)\nexcept ValueError:\n    a = None\n"
    )
    assert list(caught_around_msgspec(ast.parse(source))) == [
        (1, {"ValueError"}),
        (5, {"OSError", "msgspec.MsgspecError"}),
    ]
