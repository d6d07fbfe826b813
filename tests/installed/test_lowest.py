"""The lowest versions, as far as setup.py tells; `make test-lowest` runs the tests with them."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys

import pytest

import beamscore
from tests.installed.lowest import lowest, package_metadata


def test_the_lowest_version_of_a_range_is_pinned_and_must_be_named() -> None:
    given = ["apache-beam[gcp]>=2.72,<3", "backports.zstd>=1.0,<2; python_version<'3.14'", "a>=1"]
    assert lowest(given) == ["apache-beam[gcp]==2.72", "backports.zstd==1.0; python_version<'3.14'", "a==1"]
    for requirement in ("numpy", "numpy<3", "numpy~=1.26", "numpy==1.26"):
        with pytest.raises(ValueError, match="must name its lowest version"):
            lowest([requirement])


def test_every_requirement_has_a_lowest_version() -> None:
    metadata = package_metadata()
    needed = [*metadata["install_requires"], *(each for extra in metadata["extras_require"].values() for each in extra)]
    assert len(lowest(needed)) == len(needed) > 10


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
