r"""Typesets marked formulas with TeX: many in one process, each as if it were alone.

A batch is one DVI run over a format that holds the preamble; each formula is a box of its own, shipped out as one page.
After each, the run checks that every group is closed; where one is not, or a formula swallows its own end, the run
stops there. The formula where it stopped is typeset alone, as a whole document, and gets what that gives; the
formulas after it go into a new batch. So no result depends on its batch.

A formula cannot read, write, define or run anything: commands outside of metrics.formula.vocabulary are not known to
its TeX, `\special` and hexadecimal notation are out of its reach, and the process has no shell escape, opens files in
its own scratch folder alone, and is bounded in processor time, memory and file size; its whole process group is ended.
"""

from __future__ import annotations

import gzip
import math
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metrics.benchmark import MissingTool
from metrics.formula.allowed import allowed
from metrics.formula.dvi import (
    POINTS_PER_INCH,
    UNITS_PER_POINT,
    Font,
    Metrics,
    Page,
    UnreadableOutput,
    read_metrics,
    read_pages,
)
from metrics.formula.marks import SWALLOWING_MARK, Marked
from metrics.formula.tex import INSTALL, find_file, require_tex, run_bounded, search_paths

PAPERS = ((600, "a5", 210.0), (1300, "a4", 297.0), (1 << 62, "a3", 420.0))
"""(most marked tokens, paper, width in mm when it lies on its side)."""
PRINTED_SHARE = 0.98
MOST_IN_A_RUN = 256
"""Formulas in one run of TeX: what is lost when one breaks it is bounded."""

_ENVIRONMENT_NAME = re.compile(r"\\(begin|end)\s*\{\s*([a-zA-Z]*)")

_PREAMBLE = r"""\documentclass[12pt]{article}
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
\newbox\formula@box
\newcount\formula@level
\newwrite\formula@begun
\edef\formula@ship{\expandafter\noexpand\csname tex_shipout:D\endcsname}
\def\formula@stop{\batchmode\read-1to\formula@nothing}
\def\formula@check#1{%
  \ifnum\currentgrouplevel=#1\relax\ifvmode\else\formula@stop\fi\else\formula@stop\fi}
\def^^04#1#2{%
  \formula@check{\formula@level}%
  \immediate\openout\formula@begun=\number#1\relax\immediate\closeout\formula@begun
  \global\count0=#1\relax
  \setbox\formula@box\vbox\bgroup
  \hsize=#2mm\relax\textwidth\hsize\linewidth\hsize\columnwidth\hsize}
\def^^05{\par
  \formula@check{\numexpr\formula@level+1\relax}%
  \egroup\formula@ship\box\formula@box}
\def\formula@start{\formula@level\currentgrouplevel\relax}
\def\formula@origin{\hoffset-\oddsidemargin
  \voffset-\dimexpr\topmargin+\headheight+\headsep+\topskip\relax}
\def\@input#1{}
\makeatother
\ExplSyntaxOn\sys_ensure_backend:\ExplSyntaxOff
\setbox0\vbox{\[\mathrm{x}\mathbf{x}\mathbb{R}\mathfrak{g}\mathcal{L}\mathit{x}\mathsf{x}\mathtt{x}\boldsymbol{x}
  \upalpha\lesssim\sum^{\sum^{\mathrm{x}\mathbf{x}}}\text{x}\]}
\dump
"""


@dataclass(frozen=True, slots=True)
class Typeset:
    """A typeset formula: the pages it came out on and the fonts by number.

    Places are in scaled points from the left edge of the text and its first baseline; that point is `margin` right of
    the paper's left edge and `fall` below its top edge, and the paper is `width` wide.
    """

    pages: tuple[Page, ...]
    fonts: dict[int, Font]
    margin: int
    fall: int
    width: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A formula that TeX gave no page for, with the reason."""

    reason: str


class Typesetter:
    """TeX with its scratch folder and its format; a context manager.

    `seconds` is the processor time that one formula may take. `runs` and `nanoseconds` tell how often TeX ran on
    formulas, and how long on the clock.

    Raises MissingTool on entry where TeX, a package or the Chinese face is missing.
    """

    def __init__(self, seconds: int = 5) -> None:
        self._seconds = seconds
        self._scratch: Path | None = None
        self._paths: dict[str, str] = {}
        self._metrics: dict[str, Metrics] = {}
        self._outlines: dict[str, Path | None] = {}
        self.runs = 0
        self.nanoseconds = 0

    def __enter__(self) -> Typesetter:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Makes the scratch folder and the format."""
        if self._scratch is not None:
            return
        require_tex()
        self._scratch = Path(tempfile.mkdtemp(prefix="beamscore-formula-"))
        try:
            self._make_format(self._scratch)
            self._paths = search_paths(self._scratch)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Removes the scratch folder."""
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def typeset(self, formulas: Sequence[Marked]) -> list[Typeset | Failure]:
        """Typesets formulas, each as if it were alone; equal ones once."""
        results: dict[Marked, Typeset | Failure] = {}
        waiting = list(dict.fromkeys(formulas))
        for formula in [formula for formula in waiting if not _promising(formula.source)]:
            results[formula] = self._alone(formula)
        waiting = [formula for formula in waiting if formula not in results]
        while waiting:
            done, blamed = self._batch(waiting[:MOST_IN_A_RUN])
            results |= done
            if blamed is not None:
                results[blamed] = self._alone(blamed)
            waiting = [formula for formula in waiting if formula not in results]
        return [results[formula] for formula in formulas]

    def _batch(self, formulas: Sequence[Marked]) -> tuple[dict[Marked, Typeset | Failure], Marked | None]:
        """Typesets formulas in one run: those that it finished, and the one that broke it, if any did.

        A run that stops by itself stops at the first formula without a page. One that was ended may have lost pages
        that were not written yet, so there the formula to blame is the last one begun, if it has no page.
        """
        body = "\n".join(
            f"\x04{{{number}}}{{{_paper(formula)[1] * PRINTED_SHARE:.2f}}}{_display(formula)}\x05"
            for number, formula in enumerate(formulas)
        )
        source = f"\\begin{{document}}\\csname formula@start\\endcsname\n{body}\n\\end{{document}}\n"
        fonts: dict[int, Font] = {}
        pages, begun = self._run(source, fonts, self._seconds + len(formulas) // 100)
        done: dict[Marked, Typeset | Failure] = {
            formulas[page.number]: Typeset((page,), fonts, *_on_paper(formulas[page.number]))
            for page in pages
            if 0 <= page.number < len(formulas)
        }
        rest = [formula for formula in formulas if formula not in done]
        if begun is None:
            return done, rest[0] if rest else None
        return done, None if formulas[begun] in done else formulas[begun]

    def _alone(self, formula: Marked) -> Typeset | Failure:
        """Typesets one formula as a document of its own."""
        name = _paper(formula)[0]
        source = (
            f"\\geometry{{{name}paper}}\\begin{{document}}\\csname formula@origin\\endcsname"
            f"{_display(formula)}\n\\end{{document}}\n"
        )
        fonts: dict[int, Font] = {}
        pages, ended = self._run(source, fonts, self._seconds)
        if not pages and ended is not None:
            return Failure(f"TeX takes more than {self._seconds} seconds, or more memory than it may")
        if not pages:
            return Failure("TeX gives no page for it")
        return Typeset(tuple(pages), fonts, *_on_paper(formula))

    def _run(self, source: str, fonts: dict[int, Font], seconds: int) -> tuple[list[Page], int | None]:
        """Runs TeX on a document and returns the pages that it finished, without those after the first loss.

        The second value is the number of the last formula begun (0 of a lone one) where TeX was ended from outside.
        """
        if self._scratch is None:
            raise RuntimeError("the typesetter is not open")
        self.runs += 1
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        try:
            (folder / "formula.tex").write_text("\\pdfsetrandomseed1 " + source, "utf-8")
            started = time.perf_counter_ns()
            ended = run_bounded(
                ["latex", "-fmt", "../formula.fmt", *_FLAGS, "formula.tex"], folder, seconds, self._paths
            )
            self.nanoseconds += time.perf_counter_ns() - started
            begun = max((int(path.stem) for path in folder.glob("[0-9]*.tex")), default=0)
            output = folder / "formula.dvi"
            data = output.read_bytes() if output.exists() else b""
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            pages = list(read_pages(data, self.metrics, fonts)) if data else []
        except UnreadableOutput:
            pages = []
        return pages, begun if ended else None

    def metrics(self, name: str) -> Metrics:
        """Returns the glyph sizes of a font; of a font that is not there, none."""
        if name not in self._metrics:
            found = find_file(f"{name}.tfm", self._paths.get("TFMFONTS", ""))
            self._metrics[name] = read_metrics(found.read_bytes()) if found else Metrics({})
        return self._metrics[name]

    def outlines(self, name: str) -> Path | None:
        """Returns the file of a font's outlines (Type 1); None where there is none."""
        if name not in self._outlines:
            self._outlines[name] = find_file(f"{name}.pfb")
        return self._outlines[name]

    def _make_format(self, scratch: Path) -> None:
        (scratch / "formula.tex").write_text(_PREAMBLE, "utf-8")
        run_bounded(["latex", "-ini", *_FLAGS, "&latex", "formula.tex"], scratch, seconds=60)
        path = scratch / "formula.fmt"
        if not path.exists():
            log = scratch / "formula.log"
            said = log.read_text("utf-8", "replace") if log.exists() else ""
            errors = [line for line in said.splitlines() if line.startswith("!")]
            raise MissingTool(f"LaTeX cannot read its packages ({'; '.join(errors[:2]) or 'no log'}): {INSTALL}")
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            path.write_bytes(gzip.decompress(data))


_FLAGS = ["-interaction=batchmode", "-no-shell-escape", "-no-mktex=tfm", "-no-mktex=pk"]


def _display(formula: Marked) -> str:
    body = f"\\begin{{displaymath}}\n{allowed(formula.source)}\n\\end{{displaymath}}"
    return f"\\begin{{CJK}}{{UTF8}}{{gkai}}{body}\\end{{CJK}}" if formula.chinese else body


def _promising(source: str) -> bool:
    """Whether the formula is likely to leave its batch as it was: nothing can swallow what follows it.

    A missing or spare brace does no harm, TeX mends it on the spot; an environment that is left open does.
    """
    names: list[str] = []
    for word, name in _ENVIRONMENT_NAME.findall(source):
        if word == "begin":
            names.append(name)
        elif not names or names.pop() != name:
            return False
    return not names and SWALLOWING_MARK not in source


def _paper(formula: Marked) -> tuple[str, float]:
    count = len(formula.labels)
    return next((name, width) for most, name, width in PAPERS if count <= most)


def _on_paper(formula: Marked) -> tuple[int, int, int]:
    """Where the text's first baseline starts on the paper, and the paper's width, in scaled points.

    The geometry package leaves two fifths of the vertical margin above the text; the first line is 12 pt below.
    """
    unit = POINTS_PER_INCH * UNITS_PER_POINT / 25.4
    width = _paper(formula)[1]
    margin = 1 - PRINTED_SHARE
    fall = width / math.sqrt(2) * margin * 2 / 5 * unit + 12 * UNITS_PER_POINT
    return round(width * margin / 2 * unit), round(fall), round(width * unit)
