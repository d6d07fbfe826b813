"""A displayed formula without what only displays it: labels, tags, the environment around it."""

from __future__ import annotations

import re

_BLANKS = re.compile(r"\s+")
_BRACES = r"\{(?:[^{}\\]|\\.|\{(?:[^{}\\]|\\.|\{[^{}]*\})*\})*\}"
_WITHOUT_INK = re.compile(
    rf"(?P<kept>\\\\)|\\(?:label|tag)(?![A-Za-z@])\*?\s*(?:{_BRACES})?|\\l?eqno(?![A-Za-z@]).*"
    r"|\\(?:notag|nonumber|ensuremath|xspace|protect)(?![A-Za-z@])",
    re.DOTALL,
)
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([A-Za-z]+)\*?\s*\}")
_ROWS = re.compile(r"\\(?:(?P<begin>begin)|(?P<end>end))\s*\{|(?P<row>\\\\|&)|\\.", re.DOTALL)

_ALIGNED = "align alignat xalignat xxalignat flalign eqnarray aligned alignedat split"
ALIGNED = frozenset(_ALIGNED.split())
GATHERED = frozenset({"gather", "multline", "gathered", "multlined"})
SINGLE = frozenset({"equation", "displaymath"})
_WITHIN_OTHERS = frozenset({"aligned", "alignedat", "split", "gathered", "multlined"})
DISPLAYED = (ALIGNED | GATHERED | SINGLE) - _WITHIN_OTHERS
"""The environments that are displayed formulas, with or without a star."""
_ARGUMENTS = {
    **dict.fromkeys(("alignat", "alignedat", "xalignat", "xxalignat"), re.compile(r"\s*\{\s*\d*\s*\}")),
    **dict.fromkeys(("aligned", "split", "gathered", "multlined"), re.compile(r"\s*\[[a-z]\]")),
}
"""What precedes the content of an environment."""

MAX_LAYERS = 4
"""Of environments directly within one another, this many are taken off."""


def bare(formula: str, environment: str = "") -> tuple[str, str]:
    """Returns the content of a formula to compare by, and in a form that can be typeset by itself.

    `environment` is the one that the formula was found in, without a star, "" for `\\[` and `$$`. Its arguments go,
    and `\\label{..}`, `\\tag{..}`, `\\notag` and `\\nonumber`, and `\\eqno` and `\\leqno` with all after them; so do
    `\\ensuremath`, `\\xspace` and `\\protect`, which mean nothing in a formula but may be in the body of a macro.
    Blanks become single spaces. Environments around the whole of it that align or gather rows go, too; in the form to
    typeset, rows (a `&` or `\\\\` outside other environments) are put into `aligned` or `gathered`.

    >>> bare("a &= b \\\\label{x}", "align")
    ('a &= b', '\\\\begin{aligned} a &= b \\\\end{aligned}')
    """
    kind = environment
    content = _without_arguments(_WITHOUT_INK.sub(lambda mark: mark["kept"] or " ", formula), kind)
    for _layer in range(MAX_LAYERS):
        inner = _only_environment(content)
        if inner is None:
            break
        kind, content = inner
    wrapper = "aligned" if kind in ALIGNED else "gathered" if kind in GATHERED else ""
    if wrapper and _has_rows(content):
        return content, f"\\begin{{{wrapper}}} {content} \\end{{{wrapper}}}"
    return content, content


def _without_arguments(content: str, kind: str) -> str:
    """The content of an environment without the arguments that precede it, its blanks as single spaces."""
    argument = _ARGUMENTS[kind].match(content) if kind in _ARGUMENTS else None
    content = _BLANKS.sub(" ", content[argument.end() :] if argument else content).strip()
    backslashes = len(content) - len(content.rstrip("\\"))
    return f"{content} " if backslashes % 2 else content  # a control space keeps its blank


def _only_environment(formula: str) -> tuple[str, str] | None:
    """The name and content of the environment of rows that is all of `formula`; None where there is none."""
    first = _ENVIRONMENT.match(formula)
    if not first or first[1] != "begin" or first[2] not in ALIGNED | GATHERED | SINGLE:
        return None
    depth = 0
    for mark in _ENVIRONMENT.finditer(formula):
        depth += 1 if mark[1] == "begin" else -1
        if depth == 0:
            whole = mark.end() == len(formula) and mark[2] == first[2]
            return (first[2], _without_arguments(formula[first.end() : mark.start()], first[2])) if whole else None
    return None


def _has_rows(formula: str) -> bool:
    depth = 0
    for token in _ROWS.finditer(formula):
        depth += bool(token["begin"]) - bool(token["end"])
        if token["row"] and depth == 0:
            return True
    return False
