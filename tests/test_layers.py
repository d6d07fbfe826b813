"""Layers depend downward only: pipelines -> transforms -> metrics; nothing outside of tests imports tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamscore.metrics.registry import benchmark_names

ROOT = Path(__file__).parents[1]
LAYERS = ("metrics", "transforms", "pipelines")
BENCHMARK_NAMES = re.compile(
    "|".join(re.escape(name).replace("_", "_?") for name in benchmark_names() if name != "toy"), re.IGNORECASE
)


def files(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


def imported(path: Path, root: Path = ROOT) -> Iterator[str]:
    """Yields the full name of every module that a file imports, wherever in it, and of every name from there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                f"{imported_from(path.relative_to(root), node)}.{alias.name}".removeprefix(".") for alias in node.names
            )
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "__import__"):
            yield ast.unparse(node.args[0]).strip("'\"")


def imported_from(path: Path, node: ast.ImportFrom) -> str:
    """Returns the name of the module that names are imported from, such as `metrics.chart.axes` for one of ours."""
    if not node.level:
        return (node.module or "").removeprefix("beamscore").removeprefix(".")
    package = path.parent.parts
    above = package[: len(package) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def names_and_strings(path: Path) -> Iterator[str]:
    """Yields every name and every string of a file but its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.alias, ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


def within(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def benchmark_folders() -> list[Path]:
    return [folder for folder in (ROOT / "metrics").iterdir() if (folder / "benchmark.py").exists()]


def identity(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", files("metrics"), ids=identity)
def test_metrics_know_no_beam_and_no_layer_above(path: Path) -> None:
    above = [module for module in imported(path) if within(module, "apache_beam", "transforms", "pipelines")]
    assert above == []


@pytest.mark.parametrize("path", files("transforms"), ids=identity)
def test_transforms_know_no_pipelines_and_no_benchmark(path: Path) -> None:
    benchmarks = [f"metrics.{folder.name}" for folder in benchmark_folders()]
    assert [module for module in imported(path) if within(module, "pipelines", *benchmarks)] == []
    assert [word for word in names_and_strings(path) if BENCHMARK_NAMES.search(word)] == []


@pytest.mark.parametrize("path", [path for layer in LAYERS for path in files(layer)], ids=identity)
def test_nothing_outside_of_tests_imports_tests(path: Path) -> None:
    assert [module for module in imported(path) if within(module, "tests")] == []


def test_benchmarks_do_not_know_each_other() -> None:
    folders = benchmark_folders()
    for folder in folders:
        others = [f"metrics.{other.name}" for other in folders if other != folder]
        for path in folder.rglob("*.py"):
            assert [module for module in imported(path) if within(module, *others)] == [], path


@pytest.mark.parametrize("path", files("metrics/formula"), ids=identity)
def test_layers_of_formula_depend_downward_only(path: Path) -> None:
    """cdm -> render -> latex, and documents -> latex, of which they take the names of commands alone."""
    above = {
        "latex": ("render", "cdm", "documents"),
        "render": ("cdm", "documents"),
        "cdm": ("documents",),
        "documents": ("latex.normal_form", "latex.parser", "latex.token_markup", "render", "cdm"),
    }
    rooms = [f"metrics.formula.{room}" for room in above.get(path.parent.name, ())]
    assert [module for module in imported(path) if within(module, *rooms)] == []


@pytest.mark.parametrize("path", [*files("metrics/statistics"), *files("metrics/common")], ids=identity)
def test_what_benchmarks_share_knows_none_of_them(path: Path) -> None:
    benchmarks = [f"metrics.{folder.name}" for folder in benchmark_folders()]
    assert [module for module in imported(path) if within(module, *benchmarks)] == []


def test_the_walk_finds_what_it_looks_for(tmp_path: Path) -> None:
    """A check of the check: each kind of import, name and string is seen, a docstring is not."""
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
