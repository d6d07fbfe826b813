"""`python changes.py TREE COUNT SEED` draws COUNT places of the code of TREE, and changes each in one way.

It runs in an environment with https://cosmic-ray.readthedocs.io, whose operators it applies, without the project.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

FOLDERS = ("metrics", "transforms", "pipelines")
LEFT_OUT = ("core/ReplaceBinaryOperator_BitOr_", "core/RemoveDecorator", "core/ExceptionReplacer")
"""Between types, which nothing evaluates; decorators such as @dataclass(slots=True); names with dots, which fail."""


def places(tree: Path) -> dict[tuple[str, tuple[int, int]], list[tuple[str, int]]]:
    """Returns what can be changed: by module and position, the operators that apply, each with its occurrence."""
    names = [name for name in operator_names() if not name.startswith(LEFT_OUT) and not get_operator(name).arguments()]
    found = defaultdict(list)
    for path in sorted(path for folder in FOLDERS for path in (tree / folder).rglob("*.py")):
        nodes = list(ast_nodes(get_ast_from_path(path)))
        for name in names:
            starts = (start for node in nodes for start, _ in get_operator(name)().mutation_positions(node))
            for occurrence, start in enumerate(starts):
                found[str(path.relative_to(tree)), start].append((name, occurrence))
    return found


def main(tree: Path, count: int, seed: int) -> None:
    """Prints the changes as JSON lines: the module, the line, the operator, and the module as it is then."""
    operators, chosen = places(tree), random.Random(seed)
    for module, start in chosen.sample(sorted(operators), count):
        name, occurrence = chosen.choice(operators[module, start])
        code = mutate_code((tree / module).read_text(encoding="utf-8"), get_operator(name)(), occurrence)
        print(json.dumps({"module": module, "line": start[0], "operator": name, "code": code}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
