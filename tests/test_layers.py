"""Layers depend downward only, pipelines -> transforms -> metrics, and errors of msgspec are caught by their names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamscore.metrics.registry import benchmark_names

ROOT = Path(__file__).parents[1]
BENCHMARK_NAMES = re.compile(
    "|".join(re.escape(name).replace("_", "_?") for name in benchmark_names() if name != "toy"), re.IGNORECASE
)
BENCHMARKS = sorted(f"metrics.{path.parent.name}" for path in (ROOT / "metrics").glob("*/benchmark.py"))
FORMULA = "metrics.formula"
LAYERS = ("pipelines", "transforms", "metrics")

FORBIDDEN: dict[str, list[str]] = {
    "pipelines": ["tests"],
    "transforms": ["tests", "pipelines", *BENCHMARKS],
    "metrics": ["tests", "apache_beam", "transforms", "pipelines"],
    "metrics/statistics": BENCHMARKS,
    "metrics/common": BENCHMARKS,
    **{each.replace(".", "/"): [other for other in BENCHMARKS if other != each] for each in BENCHMARKS},
    # cdm -> render -> latex, and documents -> latex, of which they take the names of commands alone.
    "metrics/formula/latex": [f"{FORMULA}.{room}" for room in ("render", "cdm", "documents")],
    "metrics/formula/render": [f"{FORMULA}.{room}" for room in ("cdm", "documents")],
    "metrics/formula/cdm": [f"{FORMULA}.documents"],
    "metrics/formula/documents": [
        f"{FORMULA}.{room}" for room in ("latex.normal_form", "latex.parser", "latex.token_markup", "render", "cdm")
    ],
}
"""What the files of a folder must not import."""


def imported(path: Path, root: Path = ROOT) -> Iterator[str]:
    """Yields the full name of every module that a file imports, wherever in it, and of every name from there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = path.relative_to(root).parent.parts
            above = ".".join(start[: len(start) - node.level + 1]) if node.level else ""
            module = f"{above}.{node.module or ''}".strip(".").removeprefix("beamscore").removeprefix(".")
            yield from (f"{module}.{alias.name}".removeprefix(".") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "__import__"):
            yield ast.unparse(node.args[0]).strip("'\"")


def names_and_strings(path: Path) -> Iterator[str]:
    """Yields every name and every string of a file but its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
        else:
            yield from (str(found) for field in ("id", "attr", "name", "arg") if (found := getattr(node, field, None)))


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_layers_depend_downward_only(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    for path in paths:
        modules = [f"{module}." for module in imported(path)]
        assert [each for each in modules if each.startswith(tuple(f"{name}." for name in FORBIDDEN[folder]))] == [], (
            path
        )


def test_transforms_know_no_benchmark_by_name() -> None:
    for path in (ROOT / "transforms").rglob("*.py"):
        assert [word for word in names_and_strings(path) if BENCHMARK_NAMES.search(word)] == [], path


def caught_around_msgspec(source: str) -> Iterator[set[str]]:
    """Yields the names of the errors that are caught around each block that calls msgspec."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Try):
            errors = [each.type for each in node.handlers if each.type]
        elif isinstance(node, ast.With):
            calls = [each.context_expr for each in node.items if isinstance(each.context_expr, ast.Call)]
            errors = [arg for call in calls if ast.unparse(call.func) == "contextlib.suppress" for arg in call.args]
        else:
            continue
        called = [ast.unparse(each.func) for each in ast.walk(ast.Module(node.body, [])) if isinstance(each, ast.Call)]
        if errors and any(name.startswith("msgspec.") for name in called):
            names = (each.elts if isinstance(each, ast.Tuple) else [each] for each in errors)
            yield {ast.unparse(name) for each in names for name in each}


def test_where_a_value_error_is_expected_of_msgspec_its_own_errors_are_named() -> None:
    """Not in every version are they ValueErrors."""
    for path in (ROOT / "__init__.py", *(path for part in LAYERS for path in (ROOT / part).rglob("*.py"))):
        for names in caught_around_msgspec(path.read_text(encoding="utf-8")):
            assert "ValueError" not in names or "msgspec.MsgspecError" in names, path


def test_the_walk_finds_what_it_looks_for(tmp_path: Path) -> None:
    """A check of the check: each kind of import, name and string is seen, a docstring is not; and what is caught."""
    source = (
        "try:\n    a = f(msgspec.json.decode(b))\nexcept ValueError:\n    a = None\n"
        "with contextlib.suppress(OSError, msgspec.MsgspecError):\n    msgspec.convert(b, int)\n"
        "try:\n    a = json.loads(b)\nexcept ValueError:\n    a = None\n"
    )
    assert list(caught_around_msgspec(source)) == [{"ValueError"}, {"OSError", "msgspec.MsgspecError"}]
    path = tmp_path / "transforms" / "a.py"
    path.parent.mkdir()
    path.write_text(
        '"""About a chart."""\n'
        "import apache_beam.io as io\n"
        "from ..metrics import chart\n"
        "def f(formula):\n"
        '    """Formula."""\n'
        "    from beamscore.pipelines.config.settings import load\n"
        '    importlib.import_module("tests.toy")\n'
        '    return load("traffic_rules").figure_text\n'
    )
    expected = ["apache_beam.io", "metrics.chart", "pipelines.config.settings.load", "tests.toy"]
    assert list(imported(path, tmp_path)) == expected
    found = sorted(word for word in names_and_strings(path) if BENCHMARK_NAMES.search(word))
    assert found == ["chart", "figure_text", "formula", "traffic_rules"]
