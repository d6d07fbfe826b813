r"""Typesets marked formulas with TeX: many in one process, each as if it were alone.

A batch is one DVI run over a format that holds the preamble; each formula is a box of its own, shipped out as one page.
What a formula gets must not depend on its batch, so the batch's page counts only where nothing can have reached it from
elsewhere, or left it:

- TeX reports no error between the formula's beginning and that of the next. What ends a formula is `\outer`, so that an
  argument that is not closed is such an error rather than a way into the next formula.
- At its end every group and conditional is closed, else the run stops there.
- Its page holds one display, and every mark on it is one of its own, opened and closed there.
- What LaTeX changes globally while it typesets is set back before each formula. What the Chinese environment changes is
  not, so formulas with and without it are in runs of their own.

Every other formula is typeset alone, as a whole document, and that result counts. So is a formula whose counted work is
large (metrics.formula.limits).

A formula cannot read, write, define or run anything: commands outside of metrics.formula.latex.commands are not known
to its TeX, `\special` and hexadecimal notation are out of its reach, and the process has no shell escape, opens files
in its own scratch folder alone, and is bounded in processor time, memory and file size; its whole process group is
ended.
"""

from __future__ import annotations

import gzip
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from ...benchmark import MissingTool
from ..latex.token_markup import Marked
from ..limits import START_STEPS, SampleAllowances
from .document import MARKS_OF_A_FORMULA, PREAMBLE, batch_document, finished, lone_document, on_paper
from .dvi import Font, Metrics, Page, UnreadableOutput, read_metrics, read_pages
from .tex import INSTALL, find_file, require_tex, run_bounded

MAX_FORMULAS_PER_RUN = 1000
"""Formulas in one run of TeX: what is lost when one breaks it is bounded."""
MAX_STEPS_PER_RUN = 1_000_000
"""The counted work of the formulas in one run, at most about a second."""
SECONDS_OF_RUN = 2
"""Processor time of a run of several formulas: one second for them all, and one for a formula that has no end."""
MAX_STEPS_IN_RUN = 100_000
"""A formula with more counted work is typeset alone."""
STEPS_OF_SECOND = 250_000
"""A formula may take a second of processor time and one more for so many steps, four times what they take at most."""
STEPS_OF_STALLED_SECOND = 1_000_000


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
    """A formula that TeX gave no page for, with the reason, and whether TeX had to be ended."""

    reason: str
    stalled: bool = False


class _Run(NamedTuple):
    """What a run of TeX left: the pages that it finished, its log, the last formula begun (0 unless it is watched).

    ended: whether it had to be ended from outside.
    """

    pages: list[Page]
    log: str
    begun: int
    ended: bool


class Typesetter:
    """TeX with its scratch folder and its format.

    `seconds` is the processor time that one formula may take. `runs` and `nanoseconds` tell how often TeX ran on
    formulas, and how long on the clock.
    """

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self.runs = 0
        self.nanoseconds = 0

    def open(self) -> None:
        """Makes the scratch folder and the format.

        Raises MissingTool if TeX, a package or the Chinese face is missing.
        """
        if self._scratch is not None:
            return
        require_tex()
        data = _format()
        self._scratch = tempfile.TemporaryDirectory(prefix="beamscore-formula-", ignore_cleanup_errors=True)
        Path(self._scratch.name, "formula.fmt").write_bytes(data)

    def close(self) -> None:
        """Removes the scratch folder."""
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def typeset(
        self, formulas: Iterable[Marked], allowances: SampleAllowances | None = None
    ) -> dict[Marked, Typeset | Failure]:
        """Typesets formulas, each as if it were alone; leaves out those that no sample of `allowances` still wants."""
        allowances = allowances or SampleAllowances()
        results: dict[Marked, Typeset | Failure] = {}
        waiting = sorted(dict.fromkeys(formulas), key=attrgetter("chinese"))
        alone = [each for each in waiting if each.steps > MAX_STEPS_IN_RUN]
        while True:
            for formula in filter(allowances.wanted, alone):
                results[formula] = result = self._alone(formula)
                stalled = isinstance(result, Failure) and result.stalled
                seconds = max(self._limit(formula), SECONDS_OF_RUN)
                starts = 1 if formula.steps > MAX_STEPS_IN_RUN else 2  # one more for the run that it may have ended
                allowances.charge(formula, seconds * STEPS_OF_STALLED_SECOND if stalled else starts * START_STEPS)
            left = {*waiting} - {*alone, *results}
            waiting = [each for each in waiting if each in left and allowances.wanted(each)]
            if not waiting:
                return results
            done, alone = self._batch(_first_run(waiting))
            results |= done

    def _limit(self, formula: Marked) -> int:
        """The seconds of processor time that a formula may take."""
        return min(self._seconds, 1 + formula.steps // STEPS_OF_SECOND)

    def _batch(self, formulas: Sequence[Marked]) -> tuple[dict[Marked, Typeset], list[Marked]]:
        """Typesets formulas in one run.

        Returns those whose pages count, and those that are to be typeset alone; the ones that the run did not reach are
        in neither. One of the two is never empty.
        """
        fonts: dict[int, Font] = {}
        run = self._run(batch_document(formulas), fonts, SECONDS_OF_RUN, MARKS_OF_A_FORMULA)
        if run.ended:  # what was begun tells which formula has no end: what TeX wrote of the others is not yet on disk
            fonts.clear()
            run = self._run(batch_document(formulas, watched=True), fonts, SECONDS_OF_RUN, MARKS_OF_A_FORMULA)
        clean, reached = finished(run.log, len(formulas))
        done: dict[Marked, Typeset] = {}
        for page in run.pages:
            if page.number in clean and page.balanced:
                formula = formulas[page.number]
                if all(0 <= mark < len(formula.labels) for mark in page.marks):
                    done[formula] = Typeset((page,), fonts, *on_paper(formula))
        alone = [each for each in formulas[: reached + 1] if each not in done]
        last = formulas[max(reached, run.begun)]
        if run.ended and last not in done and last not in alone:
            alone.append(last)
        return done, alone if done or alone else [formulas[0]]

    def _alone(self, formula: Marked) -> Typeset | Failure:
        """Typesets one formula as a document of its own."""
        fonts: dict[int, Font] = {}
        limit = self._limit(formula)
        run = self._run(lone_document(formula), fonts, limit)
        if run.pages:
            return Typeset(tuple(run.pages), fonts, *on_paper(formula))
        if run.ended:
            seconds = f"{limit} second{'s' * (limit > 1)}"
            return Failure(f"TeX takes more than {seconds}, or more memory than it may", stalled=True)
        return Failure("TeX gives no page for it")

    def _run(self, source: str, fonts: dict[int, Font], seconds: int, marks_of_a_page: int = 0) -> _Run:
        """Runs TeX on a document."""
        if self._scratch is None:
            raise RuntimeError("the typesetter is not open")
        self.runs += 1
        with tempfile.TemporaryDirectory(dir=self._scratch.name, ignore_cleanup_errors=True) as name:
            folder = Path(name)
            (folder / "formula.tex").write_text("\\pdfsetrandomseed1 " + source, "utf-8")
            started = time.perf_counter_ns()
            code = run_bounded(["latex", "-fmt", "../formula.fmt", *_FLAGS, "formula.tex"], folder, seconds)
            self.nanoseconds += time.perf_counter_ns() - started
            begun = max((int(path.stem) for path in folder.glob("[0-9]*.tex")), default=0)
            output = folder / "formula.dvi"
            data = output.read_bytes() if output.exists() else b""
            log = (folder / "formula.log").read_text("latin-1") if (folder / "formula.log").exists() else ""
            if code >= 0 and not log:
                raise OSError(f"TeX does not start: it cannot write its log to {folder}, or its format is gone")
        try:
            pages = list(read_pages(data, _glyph_sizes, fonts, marks_of_a_page)) if data else []
        except UnreadableOutput:
            pages = []
        return _Run(pages, log, begun, code < 0)


@lru_cache(maxsize=1024)
def _glyph_sizes(name: str) -> Metrics:
    """Returns the glyph sizes of a font that TeX finds; of a font that is not there, none."""
    file = find_file(f"{name}.tfm")
    return read_metrics(file.read_bytes()) if file else {}


_FLAGS = ["-interaction=batchmode", "-no-shell-escape", "-no-mktex=tfm", "-no-mktex=pk"]


@lru_cache(maxsize=1)
def _format() -> bytes:
    """Returns TeX's format with the preamble, a third of a second's work; TeX mostly compresses it, this does not."""
    with tempfile.TemporaryDirectory(prefix="beamscore-formula-") as name:
        folder = Path(name)
        (folder / "formula.tex").write_text(PREAMBLE, "utf-8")
        run_bounded(["latex", "-ini", *_FLAGS, "&latex", "formula.tex"], folder, seconds=60)
        path, log = folder / "formula.fmt", folder / "formula.log"
        if not path.exists():
            said = log.read_text("utf-8", "replace") if log.exists() else ""
            errors = [line for line in said.splitlines() if line.startswith("!")]
            raise MissingTool(f"LaTeX cannot read its packages ({'; '.join(errors[:2]) or 'no log'}): {INSTALL}")
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _first_run(waiting: Sequence[Marked]) -> Sequence[Marked]:
    """The first of the formulas that one run is to typeset: all in the Chinese environment, or none."""
    steps = 0
    for count, formula in enumerate(waiting[:MAX_FORMULAS_PER_RUN]):
        steps += formula.steps
        if steps > MAX_STEPS_PER_RUN or formula.chinese != waiting[0].chinese:
            return waiting[: max(count, 1)]
    return waiting[:MAX_FORMULAS_PER_RUN]
