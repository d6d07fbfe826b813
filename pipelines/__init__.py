"""What a person runs: the command line, the configuration, the pipelines wired from transforms."""

import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path


def _import_from(folder: str, name: str) -> None:
    """Imports the package `name` of `folder`, wherever else Python would find one of this name, unless it is there."""
    spec = None if name in sys.modules else PathFinder.find_spec(name, [folder])
    if spec is not None and spec.loader is not None:
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


# `python -m` looks into the current folder first, where packages of these names may be somebody else's.
for _name in ("metrics", "transforms"):
    _import_from(str(Path(__file__).parents[1]), _name)
