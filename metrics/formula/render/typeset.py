r"""Typesets marked formulas with TeX: many in one process, each as if it were alone.

A batch is one DVI run with a format that contains the preamble; each formula is a separate box, shipped out as one
page. The result must not depend on the batch, so the page of a formula is accepted only if nothing can have leaked into
it or out of it:

- TeX reports no error between the start of the formula and the start of the next, except errors that it repairs in
  place. The macro that ends a formula is `\outer`, so an unclosed argument is an error and cannot reach the next one.
- All groups and conditionals are closed at its end; otherwise the run stops there.
- Only its first display has ink, and every mark on its page is one of its own, opened and closed there.
- Global changes by LaTeX are reset before each formula. Those of the Chinese environment are not, so formulas with and
  without it are typeset in separate runs.

Every other formula is typeset alone, as a complete document, and that result is used. So is a formula with much counted
work (metrics.formula.limits).

A formula cannot read, write, define or run anything: its TeX does not know commands outside of
metrics.formula.latex.commands, `\special` and hexadecimal notation are not available, and the process has no shell
escape, opens files only in its own scratch folder, and is limited in processor time, memory and file size; its whole
process group is killed.
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
"""Formulas in one run of TeX; limits how much is lost when one of them breaks it."""
MAX_STEPS_PER_RUN = 1_000_000
"""The counted work of the formulas in one run, which takes at most about a second."""
SECONDS_OF_RUN = 2
"""Processor time of a run of several formulas: one second for all, and one for a formula that does not terminate."""
MAX_STEPS_TO_SHARE_RUN = 100_000
"""A formula with more counted work is typeset alone."""
STEPS_PER_SECOND = 250_000
"""A formula may take one second of processor time, plus one per so many steps: four times the most they need."""
STEPS_PER_STALLED_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Typeset:
    """A typeset formula: its pages, and the fonts by number.

    Coordinates are in scaled points; their origin is on the left edge of the text at the first baseline, `margin` from
    the left edge of the paper and `fall` below its top edge. The paper is `width` wide.
    """

    pages: tuple[Page, ...]
    fonts: dict[int, Font]
    margin: int
    fall: int
    width: int


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why TeX produced no page for a formula; stalled: whether TeX had to be killed."""

    reason: str
    stalled: bool = False


class _Run(NamedTuple):
    """The result of a run of TeX: the completed pages and the log.

    begun: the last formula that began, 0 unless the document is watched. ended: whether a signal ended TeX.
    """

    pages: list[Page]
    log: str
    begun: int
    ended: bool


class Typesetter:
    """TeX with its scratch folder and its format.

    seconds: the processor time that one formula may take. runs, nanoseconds: how often TeX ran on formulas, and its
    total wall-clock time.
    """

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self.runs = 0
        self.nanoseconds = 0

    def open(self) -> None:
        """Creates the scratch folder with the format; no-op if it is open.

        Raises MissingTool if TeX, a package or the Chinese font is missing.
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
        """Typesets formulas, each as if it were alone; omits those that no sample of `allowances` needs any more."""
        allowances = allowances or SampleAllowances()
        results: dict[Marked, Typeset | Failure] = {}
        waiting = sorted(dict.fromkeys(formulas), key=attrgetter("chinese"))
        alone = [each for each in waiting if each.steps > MAX_STEPS_TO_SHARE_RUN]
        while True:
            for formula in filter(allowances.wanted, alone):
                results[formula] = result = self._alone(formula)
                stalled = isinstance(result, Failure) and result.stalled
                seconds = max(self._limit(formula), SECONDS_OF_RUN)
                # One more for the run that it may have ended.
                starts = 1 if formula.steps > MAX_STEPS_TO_SHARE_RUN else 2
                allowances.charge(formula, seconds * STEPS_PER_STALLED_SECOND if stalled else starts * START_STEPS)
            left = {*waiting} - {*alone, *results}
            waiting = [each for each in waiting if each in left and allowances.wanted(each)]
            if not waiting:
                return results
            done, alone = self._batch(_first_run(waiting))
            results |= done

    def _limit(self, formula: Marked) -> int:
        """Returns the seconds of processor time that a formula may take."""
        return min(self._seconds, 1 + formula.steps // STEPS_PER_SECOND)

    def _batch(self, formulas: Sequence[Marked]) -> tuple[dict[Marked, Typeset], list[Marked]]:
        """Typesets formulas in one run.

        Returns the formulas whose pages are accepted, and those to typeset alone. Formulas that the run did not reach
        are in neither, nor those before the one that ended it whose pages were not yet on disk. The two are never both
        empty.
        """
        fonts: dict[int, Font] = {}
        run = self._run(batch_document(formulas), fonts, SECONDS_OF_RUN, MARKS_OF_A_FORMULA)
        if run.ended:  # a watched run shows which formula does not end: the log is not all on disk
            fonts.clear()
            run = self._run(batch_document(formulas, watched=True), fonts, SECONDS_OF_RUN, MARKS_OF_A_FORMULA)
        clean, reached = finished(run.log, len(formulas))
        done: dict[Marked, Typeset] = {}
        for page in run.pages:
            if page.number in clean and page.balanced:
                formula = formulas[page.number]
                if all(0 <= mark < len(formula.labels) for mark in page.marks):
                    done[formula] = Typeset((page,), fonts, *on_paper(formula))
        suspects = formulas[max(reached, run.begun) :][:1] if run.ended else formulas[: reached + 1]
        alone = [each for each in suspects if each not in done]
        return done, alone if done or alone else [formulas[0]]

    def _alone(self, formula: Marked) -> Typeset | Failure:
        """Typesets one formula as a complete document."""
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
    """Returns the glyph sizes of a font; empty if TeX does not find it."""
    file = find_file(f"{name}.tfm")
    return read_metrics(file.read_bytes()) if file else {}


_FLAGS = ["-interaction=batchmode", "-no-shell-escape", "-no-mktex=tfm", "-no-mktex=pk"]


@lru_cache(maxsize=1)
def _format() -> bytes:
    """Returns the TeX format with the preamble, uncompressed; making it takes a third of a second."""
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
    """Returns the first formulas, for one run: at least one, all in the Chinese environment or none."""
    steps = 0
    for count, formula in enumerate(waiting[:MAX_FORMULAS_PER_RUN]):
        steps += formula.steps
        if steps > MAX_STEPS_PER_RUN or formula.chinese != waiting[0].chinese:
            return waiting[: max(count, 1)]
    return waiting[:MAX_FORMULAS_PER_RUN]
