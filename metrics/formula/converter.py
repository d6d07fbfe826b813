"""Reads CDM's own JSON, text files of one formula a line as UniMER-Test has them, and documents.

CDM's evaluation.py reads a list of objects {"img_id", "gt", "pred"}, of which `img_id` may be absent: then the sample
is called `sample_0`, `sample_1`, ... by its place. UniMER-Test has a file for each subset, `spe.txt`, `cpe.txt`,
`sce.txt` and `hwe.txt`; line n of it, counted from 0, belongs to the image `spe/000000n.png`. Of a document, a LaTeX
source or Markdown, each displayed formula is a sample.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar

from ..benchmark import error_text
from ..common.budget import Budget, OutOfBudget
from ..common.text import without_lone_returns
from ..converter import Converter, Part, UnreadableSource, only_part, read_json, stem_of, text_lines
from .documents.dialects import document_formulas
from .documents.displays import stripped
from .records import FormulaOptions

FIELDS = {"cdm_ground_truth": "gt", "cdm_predictions": "pred"}
"""The field of CDM's JSON objects that each role reads."""
DIALECTS = {"source": "latex", "markdown": "gpt4o"}
"""The dialect that the documents of each role are read in."""


class FormulaConverter(Converter):
    """Makes one record per object, line or displayed formula; `subset` is the stem of a text or document file."""

    roles: ClassVar[Mapping[str, str]] = {
        "cdm_ground_truth": "CDM's JSON, a list of objects with img_id, gt and pred; takes gt",
        "cdm_predictions": "the same JSON; takes pred",
        "lines": "text files of UniMER-Test or of predictions for them, one formula a line, such as spe.txt; the name "
        "of the file is the subset",
        "source": "LaTeX sources of documents; each displayed formula is a record, with its line",
        "markdown": "documents in Markdown, with form feeds between pages; as source, with page and line",
    }

    def parts(self, role: str, path: str, stream: BinaryIO) -> Iterable[tuple[str, bytes] | UnreadableSource]:
        """Yields (sample_id, LaTeX as UTF-8) for each object or line; blank lines are skipped but numbered.

        Of a document, yields (sample_id, a JSON object of the columns) for each displayed formula.

        An object or a line that cannot be read is yielded as an UnreadableSource. Raises UnreadableSource if the file
        is not in the layout.
        """
        if role in DIALECTS:
            return _displayed(DIALECTS[role], path, stream.read())
        return _lines(path, stream) if role == "lines" else _objects(FIELDS[role], path, stream.read())

    def records(self, key: str, parts: Sequence[Part]) -> Iterable[Mapping[str, Any]]:
        """Yields the record of one formula; raises UnreadableSource if the sample comes more than once."""
        part = only_part(key, parts)
        subset = {"subset": key.rpartition("/")[0]} if part.role == "lines" or part.role in DIALECTS else {}
        columns = json.loads(part.content) if part.role in DIALECTS else {"latex": part.content.decode()}
        yield {"sample_id": key, **columns, **subset}


def _objects(field: str, path: str, content: bytes) -> Iterator[tuple[str, bytes] | UnreadableSource]:
    try:
        objects = read_json(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableSource(f"{path}: not JSON: {error_text(error)}") from error
    if not isinstance(objects, list):
        raise UnreadableSource(f"{path}: expected a list of objects with img_id, gt and pred")
    for number, each in enumerate(objects):
        text = each.get(field) if isinstance(each, dict) else None
        name = each.get("img_id", f"sample_{number}") if isinstance(each, dict) else None
        if not isinstance(text, str) or not isinstance(name, (str, int)) or isinstance(name, bool) or name == "":
            yield UnreadableSource(
                f"{path}: object {number}: expected img_id, a text or an integer, and {field!r}, a text"
            )
            continue
        try:
            yield str(name), text.encode()
        except UnicodeEncodeError:
            yield UnreadableSource(f"{path}: object {number}: {field!r} holds half of a surrogate pair")


def _lines(path: str, stream: BinaryIO) -> Iterator[tuple[str, bytes] | UnreadableSource]:
    subset = stem_of(path)
    for number, line in enumerate(text_lines(path, stream)):
        try:
            text = stripped(line.decode("utf-8-sig" if number == 0 else "utf-8"))
        except UnicodeDecodeError as error:
            yield UnreadableSource(f"{path}, line {number + 1}: not UTF-8 ({error.reason})")
            continue
        if text:
            yield f"{subset}/{number:07d}", text.encode()


def _displayed(dialect: str, path: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the displayed formulas of a document in order, with the sample_id STEM/NUMBER, from 0."""
    budget = Budget(FormulaOptions().max_steps)
    number = 0
    try:
        text = without_lone_returns(content.decode("utf-8-sig"))
        for page, on_page in enumerate(text.split("\f") if dialect != "latex" else [text], start=1):
            for formula in document_formulas(on_page, dialect, budget):
                line = on_page.count("\n", 0, formula.offset) + 1
                place = {"line": line} if dialect == "latex" else {"page": page, "line": line}
                columns = json.dumps({"latex": formula.latex, **place})
                yield f"{stem_of(path)}/{number:07d}", columns.encode()
                number += 1
    except UnicodeDecodeError as error:
        raise UnreadableSource(f"{path}: not UTF-8 ({error.reason})") from error
    except OutOfBudget as error:
        raise UnreadableSource(f"{path}: too long, or too many macros, to be read at once: split it") from error
