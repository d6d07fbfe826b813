"""A displayed formula without what only displays it: labels, tags, comments, the environment round it."""

from __future__ import annotations

import re

from ...common.brackets import brace_ends

_COMMAND = re.compile(r"\\(?:[A-Za-z@]+|.)", re.DOTALL)
_BLANKS = re.compile(r"\s+")
_ARGUMENT = re.compile(r"\*?\s*(?=\{)")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([A-Za-z]+\*?)\s*\}")
_OPTION = re.compile(r"\s*\[[a-z]\]")
_PAIRS = re.compile(r"\s*\{\s*\d*\s*\}")
_COLUMNS = re.compile(r"\s*(?:\[[^\[\]{}]*\]\s*)?\{[^{}]*\}")
_IN_BRACES = r"\{(?:[^{}]|\{[^{}]*\})*\}"
_SETTINGS = re.compile(rf"\s*\[(?=[^\[\]]*=)((?:[^\[\]{{}}]|{_IN_BRACES})*)\]")
_EMPHEQ_KIND = re.compile(r"\s*\{\s*([A-Za-z]+\*?)\s*(?:=\s*\d+\s*)?\}")
_EMPHEQ_SIDE = re.compile(rf"\b(left|right)\s*=\s*({_IN_BRACES}|[^,{{}}]*)")
_EMPHEQ_DELIMITER = re.compile(r"\\empheq(?:big)?([lr])(brace|brack|angle|paren|vert|Vert|floor|ceil)(?![A-Za-z])")
_ROWS = re.compile(r"\\begin\s*\{|\\end\s*\{|\\(?:[A-Za-z@]+|.)|&", re.DOTALL)

_WITH_ARGUMENT = frozenset({"\\label", "\\tag"})
_WITHOUT_INK = (
    "notag nonumber ensuremath xspace protect hiderel IEEEnonumber IEEEyesnumber IEEEyessubnumber IEEEnosubnumber "
    "IEEEeqnarraynumspace"
)
_WITHOUT_ARGUMENT = frozenset(f"\\{name}" for name in _WITHOUT_INK.split())
_COLUMNS_THEN_CONTENT = "\\IEEEeqnarraymulticol"
_TO_THE_END = frozenset({"\\eqno", "\\leqno"})

_PAIR_COUNTED = frozenset({"alignat", "alignedat", "xalignat", "xxalignat"})
_COLUMNED = frozenset({"IEEEeqnarray"})
_ALIGNED_DISPLAYS = frozenset({"align", "alignat", "xalignat", "xxalignat", "flalign", "eqnarray", "IEEEeqnarray"})
_GATHERED_DISPLAYS = frozenset({"gather", "multline"})
_WITH_SETTINGS = frozenset({"dmath"})
ALIGNED = _ALIGNED_DISPLAYS | {"aligned", "alignedat", "split"}
GATHERED = _GATHERED_DISPLAYS | {"gathered", "multlined"}
SINGLE = frozenset({"equation", "displaymath", "dmath"})

DISPLAYED = frozenset(
    name + star for name in _ALIGNED_DISPLAYS | _GATHERED_DISPLAYS | SINGLE | {"empheq"} for star in ("", "*")
)
"""The environments that are displayed formulas."""

MAX_LAYERS = 4
"""Of environments directly within one another, this many are taken off."""


def without_labels(formula: str) -> str:
    """Returns a formula without its labels and tags, its blanks as single spaces.

    `\\label{..}`, `\\tag{..}`, `\\tag*{..}`, `\\notag` and `\\nonumber` go, and `\\eqno` and `\\leqno` with all after
    them. So do `\\ensuremath`, `\\xspace` and
    `\\protect`, which mean nothing within a formula but may occur in the body of a macro. Of
    `\\IEEEeqnarraymulticol{..}{..}{..}` the last argument stays, and so does the blank of a control space at the end.
    """
    parts: list[str] = []
    ends: dict[int, int] | None = None
    keep_from = position = 0
    end = len(formula)
    while command := _COMMAND.search(formula, position):
        name, position = command.group(), command.end()
        if name in _WITH_ARGUMENT:
            ends = brace_ends(formula) if ends is None else ends
            opening = _ARGUMENT.match(formula, position)
            after = position if opening is None else ends.get(opening.end(), opening.end())
            position = after
        elif name == _COLUMNS_THEN_CONTENT:
            ends = brace_ends(formula) if ends is None else ends
            for _argument in range(2):
                opening = _ARGUMENT.match(formula, position)
                position = position if opening is None else ends.get(opening.end(), opening.end())
        elif name in _TO_THE_END:
            end = command.start()
            break
        elif name not in _WITHOUT_ARGUMENT:
            continue
        parts.append(formula[keep_from : command.start()])
        keep_from = position
    parts.append(formula[keep_from:end])
    return _spaced(" ".join(parts))


def bare(formula: str, environment: str = "") -> tuple[str, str]:
    """Returns the content of a formula in a form that can be typeset by itself.

    `environment` is the one that the formula was found in, "" for `\\[` and `$$`. The first result has no
    environment round the whole of it, of those that align or gather rows; the second puts rows (a `&` or `\\\\`
    outside other environments) into `aligned` or `gathered`, without which TeX cannot set them.

    >>> bare("a &= b", "align*")
    ('a &= b', '\\\\begin{aligned} a &= b \\\\end{aligned}')
    """
    kind, content, left, right = _opened(formula, environment.rstrip("*"))
    for _layer in range(MAX_LAYERS):
        inner = _only_environment(content)
        if inner is None:
            break
        kind, content = inner
    wrapper = "aligned" if kind in ALIGNED else "gathered" if kind in GATHERED else ""
    latex = content
    if wrapper and has_rows(content):
        latex = f"\\begin{{{wrapper}}} {content} \\end{{{wrapper}}}"
    if left or right:
        return _spaced(f"{left} {content} {right}"), _spaced(f"{left} {latex} {right}")
    return content, latex


def has_rows(formula: str) -> bool:
    """Whether a formula has a `&` or `\\\\` outside all environments."""
    depth = 0
    for token in _ROWS.findall(formula):
        if token.startswith("\\begin") and token.endswith("{"):
            depth += 1
        elif token.startswith("\\end") and token.endswith("{"):
            depth -= 1
        elif depth == 0 and token in ("&", "\\\\"):
            return True
    return False


def _spaced(formula: str) -> str:
    stripped = _BLANKS.sub(" ", formula).strip()
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return f"{stripped} " if backslashes % 2 else stripped


def _opened(formula: str, kind: str) -> tuple[str, str, str, str]:
    """The kind and the content of a formula found in an environment, and what empheq puts left and right of it."""
    if kind != "empheq":
        return kind, _without_arguments(formula, kind), "", ""
    settings = _SETTINGS.match(formula)
    inner = _EMPHEQ_KIND.match(formula, settings.end() if settings else 0)
    if inner is None:
        return "gather", _spaced(formula), "", ""
    sides = {
        side: text.strip().removeprefix("{").removesuffix("}")
        for side, text in _EMPHEQ_SIDE.findall(settings.group(1) if settings else "")
    }
    left, right = (_EMPHEQ_DELIMITER.sub(_stretched, sides.get(side, "")) for side in ("left", "right"))
    left += " \\left." if "\\right" in right and "\\left" not in left else ""
    right = ("\\right. " if "\\left" in left and "\\right" not in right else "") + right
    return inner.group(1).rstrip("*"), _spaced(formula[inner.end() :]), left, right


def _stretched(delimiter: re.Match[str]) -> str:
    """The delimiter of an empheq environment, as `\\left\\lbrace` for `\\empheqlbrace`."""
    side, name = delimiter.groups()
    side_command = "\\left" if side == "l" else "\\right"
    sign = {"paren": "(" if side == "l" else ")"}.get(name, f"\\{side}{name}")
    return f"{side_command}{sign}"


def _without_arguments(content: str, kind: str) -> str:
    """The content of an environment without the arguments that precede it."""
    argument = None
    if kind in _PAIR_COUNTED:
        argument = _PAIRS.match(content)
    elif kind in _COLUMNED:
        argument = _COLUMNS.match(content)
    elif kind in _WITH_SETTINGS:
        argument = _SETTINGS.match(content)
    return _spaced(content[argument.end() :] if argument else content)


def _only_environment(formula: str) -> tuple[str, str] | None:
    """The name and content of the environment of rows that is all of `formula`; None where there is none."""
    first = _ENVIRONMENT.match(formula)
    if not first or first.group(1) != "begin":
        return None
    kind = first.group(2).rstrip("*")
    if kind not in ALIGNED | GATHERED | SINGLE:
        return None
    depth = 0
    for mark in _ENVIRONMENT.finditer(formula):
        depth += 1 if mark.group(1) == "begin" else -1
        if depth == 0:
            if mark.end() != len(formula) or mark.group(2).rstrip("*") != kind:
                return None
            option = _OPTION.match(formula, first.end()) if kind not in DISPLAYED else None
            content = formula[option.end() if option else first.end() : mark.start()]
            return kind, _without_arguments(content, kind)
    return None
