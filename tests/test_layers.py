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
NAMES = [re.escape(name).replace("_", "_?") for name in benchmark_names() if name != "toy"]
BENCHMARK_NAMES = re.compile("|".join(NAMES), re.IGNORECASE)
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


def without_docstrings(path: Path) -> str:
    """Returns the code of a file alone: every name and string that runs, and no comment."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    return ast.unparse(tree)


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
    code = {path: without_docstrings(path) for path in CODE}
    knowing = {path.relative_to(ROOT).parts[0] for path in CODE if BENCHMARK_NAMES.search(code[path])}
    assert ("transforms" in knowing, "metrics" in knowing) == (False, True)
    pickles = re.compile(r"pickle|\bdill\b|\bmarshal\b|\bshelve\b", re.IGNORECASE)
    assert [path for path in CODE if pickles.search(code[path])] == [ROOT / "pipelines" / "api" / "workers.py"]


def caught_around_msgspec(source: str) -> Iterator[list[str]]:
    """Yields the names of the errors that are caught around each block that calls msgspec."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Try, ast.With)):
            heads = node.handlers if isinstance(node, ast.Try) else node.items
            caught = " ".join(ast.unparse(each).partition(":")[0] for each in heads)
            if re.search(r"\bmsgspec\.[\w.]+\(", ast.unparse(ast.Module(node.body, []))):
                yield re.findall(r"[\w.]*Error", caught)


def test_where_a_value_error_is_expected_of_msgspec_its_own_errors_are_named() -> None:
    """Not in every version are they ValueErrors."""
    found = [names for path in CODE for names in caught_around_msgspec(path.read_text(encoding="utf-8"))]
    assert sum("msgspec.MsgspecError" in names for names in found) > 5
    assert [names for names in found if "ValueError" in names and "msgspec.MsgspecError" not in names] == []


def test_the_walk_finds_every_kind_of_import_and_of_what_is_caught(tmp_path: Path) -> None:
    path = tmp_path / "transforms" / "a.py"
    path.parent.mkdir()
    path.write_text(
        "import apache_beam.io as io\n"
        "from ..metrics import chart\n"
        "importlib.import_module('tests.toy')\n"
        "with contextlib.suppress(OSError, msgspec.MsgspecError): msgspec.convert(b, int)\n"
        "try: json.loads(b)\nexcept ValueError: pass\n"
    )
    assert sorted(imported(path, tmp_path)) == ["apache_beam.io", "metrics.chart", "tests.toy"]
    assert list(caught_around_msgspec(path.read_text())) == [["OSError", "msgspec.MsgspecError"]]


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
