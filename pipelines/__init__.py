"""What a person runs: the command line, the configuration, the pipelines wired from transforms."""

import importlib.util
import logging
import sys
from importlib.machinery import PathFinder
from pathlib import Path

# Apache Beam warns on import of optional packages that it does not find; with a handler on the root logger it
# does so there and not on the console.
logging.getLogger().addHandler(logging.NullHandler())


def _import_from(folder: str, name: str) -> None:
    """Imports the package `name` of `folder`, wherever else Python would find one of this name, unless it is there."""
    spec = None if name in sys.modules else PathFinder.find_spec(name, [folder])
    if spec is not None and spec.loader is not None:
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


# `python -m` looks into the current folder first, where packages of these names may be somebody else's.
for _name in ("metrics", "transforms"):
    _import_from(str(Path(__file__).parents[1]), _name)
