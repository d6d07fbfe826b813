"""What setup.py requires, and what the code must not require."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import re
import sys

import pytest

import beamscore


def test_every_requirement_names_its_lowest_version() -> None:
    """With which `make test-lowest` runs the tests; the next major version is excluded, or may be."""
    requirements = importlib.metadata.requires("beamscore") or []
    assert len(requirements) > 30
    for requirement in requirements:
        specified = requirement.partition(";")[0]
        assert re.search(r">=\d[\d.]*(?=,|$|\s)", specified), requirement


@pytest.mark.skipif(sys.version_info < (3, 11), reason="an older Python refuses such patterns itself")
def test_no_pattern_needs_a_newer_python_than_the_oldest() -> None:
    """Python 3.10 has no possessive quantifiers and no atomic groups."""
    parser = importlib.import_module("re._parser")
    names = [each.name for each in pkgutil.walk_packages(beamscore.__path__, "beamscore.")]
    modules = [importlib.import_module(name) for name in names if _is_ours(name)]
    patterns = {each for module in modules for each in vars(module).values() if isinstance(each, re.Pattern)}
    assert len(patterns) > 50
    newer = re.compile("POSSESSIVE|ATOMIC")
    assert not [each.pattern for each in patterns if newer.search(repr(parser.parse(each.pattern, each.flags)))]


def _is_ours(name: str) -> bool:
    """Returns whether a module is one of beamscore that does nothing where it is imported."""
    return name.split(".")[1] in ("metrics", "transforms", "pipelines") and not name.endswith(("main__", "_worker"))
