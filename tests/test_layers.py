"""Layers depend downward only; errors of msgspec are named, requirements have a lowest version, patterns fit 3.10."""

import ast
import importlib.metadata
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from beamscore.metrics.registry import benchmark_names

ROOT = Path(__file__).parents[1]
NAMES = "|".join(name.replace("_", "_?") for name in benchmark_names() if name != "toy")
BENCHMARKS = sorted(f"metrics.{path.parent.name}" for path in (ROOT / "metrics").glob("*/benchmark.py"))
FORMULA = "metrics.formula"
FLOORS = ("metrics", "transforms", "pipelines")
CODE = [ROOT / "__init__.py", *(path for part in FLOORS for path in (ROOT / part).rglob("*.py"))]

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


def imported(path: Path) -> Iterator[str]:
    """Yields the full name of every module that a file imports, wherever in it, and of every name from there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = path.relative_to(ROOT).parent.parts
            above = ".".join(start[: len(start) - node.level + 1]) if node.level else ""
            module = f"{above}.{node.module or ''}".strip(".").removeprefix("beamscore").removeprefix(".")
            yield from (f"{module}.{alias.name}".removeprefix(".") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "__import__"):
            yield ast.unparse(node.args[0]).strip("'\"")


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_layers_depend_downward_only(folder: str) -> None:
    found = {path: list(imported(path)) for path in (ROOT / folder).rglob("*.py")}
    # Imports between files of one folder are found, so those that are forbidden would be.
    assert any(each.startswith(folder.replace("/", ".")) for names in found.values() for each in names)
    forbidden = tuple(f"{name}." for name in FORBIDDEN[folder])
    for path, names in found.items():
        assert [each for each in names if f"{each}.".startswith(forbidden)] == [], path


def test_transforms_know_no_benchmark_by_name_and_one_file_alone_has_pickles() -> None:
    """A run is data: the Python API alone has pickles; `allow_pickle` of NumPy and Beam's `PickleCoder` count, too."""
    code: dict[Path, str] = {}
    for path in CODE:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            # What runs, without docstrings and comments.
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                node.value.value = None
        code[path] = ast.unparse(tree)
    knowing = {path.relative_to(ROOT).parts[0] for path in CODE if re.search(NAMES, code[path], re.IGNORECASE)}
    assert ("transforms" in knowing, "metrics" in knowing) == (False, True)
    pickles = re.compile(r"pickle|\bdill\b|\bmarshal\b|\bshelve\b", re.IGNORECASE)
    assert [path for path in CODE if pickles.search(code[path])] == [ROOT / "pipelines" / "api" / "workers.py"]


def test_where_a_value_error_is_expected_of_msgspec_its_own_errors_are_named() -> None:
    """Not in every version are they ValueErrors."""
    found = []
    for node in (node for path in CODE for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))):
        if isinstance(node, (ast.Try, ast.With)) and "msgspec." in ast.unparse(ast.Module(node.body, [])):
            heads = node.handlers if isinstance(node, ast.Try) else node.items
            found.append(re.findall(r"[\w.]*Error", " ".join(ast.unparse(each).partition(":")[0] for each in heads)))
    assert sum("msgspec.MsgspecError" in names for names in found) > 5
    assert [names for names in found if "ValueError" in names and "msgspec.MsgspecError" not in names] == []


def test_every_requirement_names_its_lowest_version() -> None:
    """With these versions `make test-lowest` runs the tests."""
    declared = list(map(Requirement, importlib.metadata.requires("beamscore") or []))
    assert len(declared) > 30
    assert [each for each in declared if not re.search(r">=\d[\d.]*(,|$)", str(each.specifier))] == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="an older Python refuses such patterns itself")
def test_no_pattern_needs_a_newer_python_than_the_oldest() -> None:
    """Python 3.10 has no possessive quantifiers and no atomic groups."""
    parser = importlib.import_module("re._parser")
    paths = [path.relative_to(ROOT).with_suffix("") for path in CODE]
    # These do something where they are imported.
    names = [".".join(("beamscore", *path.parts)) for path in paths if not path.stem.endswith(("main__", "_worker"))]
    modules = [importlib.import_module(name.removesuffix(".__init__")) for name in names]
    patterns = {each for module in modules for each in vars(module).values() if isinstance(each, re.Pattern)}
    assert len(patterns) > 50
    newer = re.compile("POSSESSIVE|ATOMIC")
    assert not [each.pattern for each in patterns if newer.search(repr(parser.parse(each.pattern, each.flags)))]
