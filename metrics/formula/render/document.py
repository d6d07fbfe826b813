"""The TeX documents for one formula and for a batch of formulas, with the same format.

The log of a batch shows which of its formulas have the same page as in a document of their own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ..latex.commands import sanitize
from ..latex.token_markup import MARK, SWALLOWING_MARK, Marked
from .dvi import POINTS_PER_INCH, UNITS_PER_POINT

PAPERS = ((600, "a5", 210.0), (1300, "a4", 297.0), (1 << 62, "a3", 420.0))
"""(maximum number of marked tokens, paper, its width in mm in landscape)."""
PRINTED_SHARE = 0.98
MARKS_OF_A_FORMULA = 10_000
"""The marks of formula n in a batch start at n times this; no formula has as many marks."""

_MARKED = re.compile(rf"([{MARK}{SWALLOWING_MARK}])\{{(\d+)\}}")

PREAMBLE = r"""\documentclass[12pt]{article}
\usepackage[landscape]{geometry}
\geometry{a5paper,scale=0.98}
\pagestyle{empty}
\usepackage{booktabs}
\usepackage{multirow}
\usepackage{amsmath}
\usepackage{upgreek}
\usepackage{amssymb}
\usepackage{CJK}
\nofiles
\catcode1=13 \catcode2=13 \catcode3=13 \catcode4=13 \catcode5=13
\makeatletter
\let^^01=\special
\def^^02{^^01{.}}
\long\def^^03#1#2{^^01{#1}#2^^02}
\hbadness=10000 \vbadness=10000 \hfuzz=\maxdimen \vfuzz=\maxdimen \tracinglostchars=0
\newbox\formula@box
\newcount\formula@level
\newwrite\formula@file
\def\formula@watch{\def\formula@begun##1{\immediate\openout\formula@file=\number##1\relax
  \immediate\closeout\formula@file}}
\let\formula@begun\@gobble
\edef\formula@ship{\expandafter\noexpand\csname tex_shipout:D\endcsname}
\def\formula@stop{\batchmode\read-1to\formula@nothing}
\newdimen\formulawidth
\newcount\formula@ends
\def\formula@par{\global\advance\formula@ends by 1\relax\ifnum\formula@ends>100\relax\formula@stop\fi}
\def\formula@array#1\let\par\@empty#2\formula@array{\def\@array[##1]##2{#1\let\par\formula@par#2}}
\expandafter\formula@array\@array[#1]{#2}\formula@array
\def\formula@columns#1\relax#2\formula@columns{\def\@xexpast##1*##2##3##4\@@{#1\relax
  \ifnum\@tempcnta>99\relax\@tempcnta=99\relax\fi#2}}
\expandafter\formula@columns\@xexpast#1*{#2}{#3}#4\@@\formula@columns
\newcount\formula@displays
\everydisplay\expandafter{\the\everydisplay\global\advance\formula@displays by 1\relax\formula@again}
\let\formula@again\relax
\def\formula@check#1{%
  \ifnum\currentgrouplevel=#1\relax\else\formula@stop\fi
  \ifnum\currentiflevel=1 \else\formula@stop\fi
  \ifvmode\else\formula@stop\fi}
\let\formula@outside\relax
\def\formula@some{ and more}
\let\formula@none\@empty
\def\formula@close{%
  \ifnum\currentgrouplevel>\numexpr\formula@level+1\relax
    \ifnum\currentgrouptype=14 \endgroup\expandafter\expandafter\expandafter\formula@close\fi
  \fi}
\def\formula@reset{%
  \global\let\formula@between\formula@none
  \global\formula@displays=0
  \global\formula@ends=0
  \global\let\glb@currsize\@empty
  \global\@lastruleclass=0
  \global\@thisruleclass=0
  \global\let\cmrkern@l\z@
  \global\let\cmrkern@r\z@
  \global\let\cmrsideswitch\relax
  \global\let\if@ignore\iffalse}
\outer\def^^04#1#2{%
  \formula@check{\formula@level}%
  \immediate\write-1{=formula #1\space begins}%
  \formula@begun{#1}%
  \formula@reset
  \global\count0=#1\relax
  \setbox\formula@box\vbox\bgroup
  \let\formula@outside\@undefined
  \formula@width{#2}%
  \begingroup\begingroup\begingroup\begingroup}
\outer\def^^05{%
  \global\let\formula@rest\formula@some
  \ifhmode\ifnum\lastnodetype=-1 \global\let\formula@rest\formula@between\fi\fi
  \par
  \formula@close
  \formula@check{\numexpr\formula@level+1\relax}%
  \ifx\formula@outside\@undefined\else\formula@stop\fi
  \egroup\formula@ship\box\formula@box
  \immediate\write-1{=formula \the\count0 \space ends with \number\formula@displays\formula@rest}}
\outer\def^^06#1{%
  \formula@check{\formula@level}%
  \immediate\write-1{=formula #1\space begins}}
\def\formula@start{\formula@level\currentgrouplevel\relax
  \def\formula@again{\ifnum\formula@displays>1
    \ifdim\predisplaysize=-\maxdimen\else\global\let\formula@between\formula@some\fi^^01{;}\fi}}
\def\formula@width#1{\hsize=#1mm\relax\textwidth\hsize\linewidth\hsize\columnwidth\hsize\formulawidth\hsize}
\def\formula@origin{\hoffset-\oddsidemargin
  \voffset-\dimexpr\topmargin+\headheight+\headsep+\topskip\relax}
\def\@input#1{}
\let\over\@@over \let\atop\@@atop \let\above\@@above
\let\overwithdelims\@@overwithdelims \let\atopwithdelims\@@atopwithdelims \let\abovewithdelims\@@abovewithdelims
\makeatother
\ExplSyntaxOn\sys_ensure_backend:\ExplSyntaxOff
\setbox0\vbox{\[\mathrm{x}\mathbf{x}\mathbb{R}\mathfrak{g}\mathcal{L}\mathit{x}\mathsf{x}\mathtt{x}\boldsymbol{x}
  \upalpha\lesssim\sum^{\sum^{\mathrm{x}\mathbf{x}}}\text{x}\]}
\dump
"""
"""The source of the format: the packages, and the macros that isolate the formulas of a batch from each other."""


def lone_document(formula: Marked) -> str:
    """Returns the document of one formula."""
    name, width = _paper(formula)
    return (
        f"\\geometry{{{name}paper}}\\begin{{document}}\\csname formula@origin\\endcsname"
        f"\\csname formula@width\\endcsname{{{width * PRINTED_SHARE:.2f}}}"
        f"{_display(formula)}\n\\end{{document}}\n"
    )


def batch_document(formulas: Sequence[Marked], watched: bool = False) -> str:
    """Returns the document of several formulas, one per page; marks of formula n start at n * MARKS_OF_A_FORMULA.

    watched: whether a file named n is created before formula n, which takes longer than typesetting the formula.
    """
    body = "\n".join(
        f"\x04{{{number}}}{{{_paper(formula)[1] * PRINTED_SHARE:.2f}}}{_display(formula, number)}\x05"
        for number, formula in enumerate(formulas)
    )
    end = f"\x06{{{len(formulas)}}}\n\\end{{document}}\n"
    watch = "\\csname formula@watch\\endcsname" if watched else ""
    return f"\\begin{{document}}\\csname formula@start\\endcsname{watch}\n{body}\n{end}"


def _display(formula: Marked, number: int = 0) -> str:
    """Returns the source of a formula as a display; its marks are those of formula `number` of a batch."""
    source = sanitize(formula.source)
    if number:
        source = _MARKED.sub(lambda mark: f"{mark[1]}{{{number * MARKS_OF_A_FORMULA + int(mark[2])}}}", source)
    body = f"\\begin{{displaymath}}\n{source}\n\\end{{displaymath}}"
    return f"\\begin{{CJK}}{{UTF8}}{{gkai}}{body}\\end{{CJK}}" if formula.chinese else body


def _paper(formula: Marked) -> tuple[str, float]:
    count = len(formula.labels)
    return next((name, width) for most, name, width in PAPERS if count <= most)


def on_paper(formula: Marked) -> tuple[int, int, int]:
    """Returns the x and y of the start of the first baseline on the paper, and the paper width, in scaled points.

    The geometry package puts two fifths of the vertical margin above the text; the first baseline is 12 pt below.
    """
    unit = POINTS_PER_INCH * UNITS_PER_POINT / 25.4
    width = _paper(formula)[1]
    margin = 1 - PRINTED_SHARE
    fall = width / math.sqrt(2) * margin * 2 / 5 * unit + 12 * UNITS_PER_POINT
    return round(width * margin / 2 * unit), round(fall), round(width * unit)


MAX_ERRORS = 50
"""A formula with more errors is not accepted; TeX aborts the run at 100 errors."""

_LOCAL_ERRORS = r"""
    Undefined\ control\ sequence\. | Extra\ \}, | Extra\ \\ | Extra\ alignment\ tab | Double\ (?:super|sub)script
    | Missing\ (?:\}|\$|\\right\.|\\cr|\\endgroup)\ inserted | Missing\ \{\ inserted\.\n<inserted\ text>
    | Missing\ delimiter | Missing\ number, | Illegal\ unit | Misplaced\ | Ambiguous; | Limit\ controls
    | Display\ math\ should\ end | You\ can't\ use\ | LaTeX\ Error:\ (?:\\begin\{|Bad\ math\ environment)
"""
"""Errors that TeX repairs in place, by dropping or inserting one token. Excluded are errors in which a command takes
a mark as its argument and so prints its number ("Missing { inserted", except in an alignment)."""

_LINE = re.compile(
    rf"""^(?:
    !\ (?P<local>{_LOCAL_ERRORS})? |
    =formula\ (?P<number>\d+)\ (?:begins|ends\ with\ (?P<displays>\d+)(?P<more>\ and\ more)?)$
    )""",
    re.MULTILINE | re.VERBOSE,
)


def finished(log: str, count: int) -> tuple[frozenset[int], int]:
    """Returns which of `count` formulas are accepted, and the number of the last formula that began (-1: none).

    A batch logs `=formula N begins` before each formula and after the last, and `=formula N ends with D` after each,
    where D is the number of its displays; ` and more` is appended if there is anything between or after the displays.
    A formula is accepted if these two lines and the beginning of the next follow each other in order, and

    - TeX reports no error between them (a line that starts with an exclamation mark), and D is 1; or
    - it reports at most 50 errors, all repaired in place, and nothing follows the first display: then all ink is
      in that display, which TeX made from tokens of the formula only.

    Text of a formula never starts a line of the log: TeX shows at most 79 characters of it, indented.
    """
    accepted: set[int] = set()
    last, errors, ended, whole = -1, 0, False, True
    for line in _LINE.finditer(log):
        if line["number"] is None:
            errors += 1
            whole = whole and line["local"] is not None
        elif line["displays"]:
            displays = int(line["displays"])
            alike = displays == 1 if not errors else displays >= 1 and not line["more"]
            whole = whole and not ended and int(line["number"]) == last and alike
            ended = True
        else:
            if int(line["number"]) != last + 1 or last == count:
                break
            if last >= 0 and ended and whole and errors <= MAX_ERRORS:
                accepted.add(last)
            last, errors, ended, whole = last + 1, 0, False, True
    return frozenset(accepted), min(last, count - 1)
