"""Where a ValueError is expected of msgspec, its own errors are named: not in every version are they ValueErrors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def caught_around_msgspec(source: str) -> Iterator[tuple[int, set[str]]]:
    """Yields line and names of the errors that are caught around each block that calls msgspec."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Try | ast.With):
            continue
        errors: list[ast.expr] = []
        if isinstance(node, ast.Try):
            errors = [each.type for each in node.handlers if each.type]
        else:
            calls = [each.context_expr for each in node.items if isinstance(each.context_expr, ast.Call)]
            errors = [arg for call in calls if ast.unparse(call.func) == "contextlib.suppress" for arg in call.args]
        found = [each for each in ast.walk(ast.Module(node.body, [])) if isinstance(each, ast.Call)]
        if errors and any(ast.unparse(call.func).startswith("msgspec.") for call in found):
            names = (each.elts if isinstance(each, ast.Tuple) else [each] for each in errors)
            yield node.lineno, {ast.unparse(name) for each in names for name in each}


def test_the_errors_of_msgspec_are_caught_by_their_names() -> None:
    files = [ROOT / "__init__.py", *(path for part in ("metrics", "transforms", "pipelines")
                                     for path in (ROOT / part).rglob("*.py"))]  # fmt: skip
    for path in files:
        for line, names in caught_around_msgspec(path.read_text(encoding="utf-8")):
            assert "ValueError" not in names or "msgspec.MsgspecError" in names, f"{path}:{line}"


def test_the_walk_finds_what_it_looks_for() -> None:
    source = (
        "try:\n    a = f(msgspec.json.decode(b))\nexcept ValueError:\n    a = None\n"
        "with contextlib.suppress(OSError, msgspec.MsgspecError):\n    msgspec.convert(b, int)\n"
        "try:\n    a = json.loads(b)\nexcept ValueError:\n    a = None\n"
    )
    assert list(caught_around_msgspec(source)) == [(1, {"ValueError"}), (5, {"OSError", "msgspec.MsgspecError"})]
