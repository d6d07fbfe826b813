"""`python changes.py TREE COUNT SEED` draws COUNT changes of the code of TREE by cosmic-ray, without the project."""

import ast
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

FOLDERS = ("metrics", "transforms", "pipelines")
LEFT_OUT = ("core/ReplaceBinaryOperator_BitOr_", "core/RemoveDecorator", "core/ExceptionReplacer")
"""Between types, which nothing evaluates; decorators such as @dataclass(slots=True); names with dots, which fail."""
IDENTITY = re.compile("core/ReplaceComparisonOperator_(Eq_Is|NotEq_IsNot|Is_Eq|IsNot_NotEq)")
"""Between `==` and `is`, which is the same for None, small numbers and words."""
ORDER = re.compile("core/ReplaceComparisonOperator_(Eq|NotEq)_[LG]tE?")
"""From `==` or `!=` to an order, which nobody mistakes for it where the other side is a word."""
WORD = re.compile(r"[!=]= b?[\"']")
ASSURANCES = {"strict", "frozen", "slots", "gc", "kw_only", "maxsize", "flush"}
"""Keywords without effect where nothing is wrong, as in zip(strict=True) and @dataclass(frozen=True)."""


class WithoutAssurances(ast.NodeTransformer):
    """Removes what a run of right code does not depend on: ASSURANCES, and what only the checker of types reads."""

    def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
        return None if node.arg in ASSURANCES else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        names = {each.id for each in ast.walk(node.test) if isinstance(each, ast.Name)}
        return None if names == {"TYPE_CHECKING"} else self.generic_visit(node)


def effect(code: str) -> str:
    """Returns the syntax of `code` without its assurances, so that two modules can be compared; "" for no Python."""
    try:
        return ast.dump(WithoutAssurances().visit(ast.parse(code)))
    except SyntaxError:
        return ""


def places(tree: Path) -> dict[tuple[str, tuple[int, int]], list[tuple[str, int]]]:
    """Returns what can be changed: by module and position, the operators that apply, each with its occurrence."""
    names = [name for name in operator_names() if not name.startswith(LEFT_OUT) and not IDENTITY.fullmatch(name)]
    operators = {name: get_operator(name)() for name in names if not get_operator(name).arguments()}
    found = defaultdict(list)
    for path in sorted(path for folder in FOLDERS for path in (tree / folder).rglob("*.py")):
        nodes = list(ast_nodes(get_ast_from_path(path)))
        for name, operator in operators.items():
            starts = (start for node in nodes for start, _ in operator.mutation_positions(node))
            for occurrence, start in enumerate(starts):
                found[str(path.relative_to(tree)), start].append((name, occurrence))
    return found


def changes(tree: Path, seed: int) -> Iterator[dict[str, object]]:
    """Yields changes with an effect, in random order: module, line, operator, and the module as it is then."""
    operators, chosen = places(tree), random.Random(seed)
    for module, start in chosen.sample(sorted(operators), len(operators)):
        name, occurrence = chosen.choice(operators[module, start])
        before = (tree / module).read_text(encoding="utf-8")
        if ORDER.fullmatch(name) and WORD.match(before.splitlines()[start[0] - 1], start[1]):
            continue
        code = mutate_code(before, get_operator(name)(), occurrence)
        if effect(code or "") not in {effect(before), ""}:
            yield {"module": module, "line": start[0], "operator": name, "code": code}


if __name__ == "__main__":
    for change in islice(changes(Path(sys.argv[1]), int(sys.argv[3])), int(sys.argv[2])):
        print(json.dumps(change))
