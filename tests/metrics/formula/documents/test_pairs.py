"""Documents from their sources to their pairs."""

from __future__ import annotations

from typing import Any

import pytest

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.documents import pairs as module
from beamscore.metrics.formula.documents.dialects import Dialect
from beamscore.metrics.formula.formula_pair import FormulaPair
from tests.generate.formula_documents import document


def paired_formulas(source: str, prediction: str | None, dialect: Dialect, **options: Any) -> list[FormulaPair]:
    return module.paired_formulas(
        source,
        prediction,
        dialect,
        Budget(500_000),
        **options,
    )


SOURCE = r"""\newcommand{\R}{\mathbb{R}}
\begin{document}
\begin{equation}\label{a} x \in \R \end{equation}
\[ a + b = c \]
\end{document}"""


def test_every_formula_has_its_place() -> None:
    prediction = "$$ \\int_0^1 f \\tag{9} $$\n\n$$\nx \\in \\mathbb{R}\n$$"
    first, second, third = paired_formulas(SOURCE, prediction, "gpt4o")
    assert first == FormulaPair(
        "x \\in \\mathbb{R}", "x \\in \\mathbb{R}", 0.0, 1, SOURCE.index("\\begin{equation}"), prediction.index("$$\nx")
    )
    assert second == FormulaPair("a + b = c", None, 1.0, None, SOURCE.index("\\["), None)
    assert third == FormulaPair(None, "\\int_0^1 f", 1.0, None, None, 0)


def test_without_a_prediction_every_ground_truth_is_unanswered() -> None:
    assert [pair.prediction for pair in paired_formulas(SOURCE, None, "nougat")] == [None, None]


def test_formulas_are_compared_in_the_form_that_is_asked_for() -> None:
    spaced = "\\[ a+b=c \\]"
    assert paired_formulas("$$ a + b = c $$", spaced, "nougat")[0].distance == 4 / 9  # four blanks of nine characters
    without = paired_formulas("$$ a + b = c $$", spaced, "nougat", comparable=lambda text: text.replace(" ", ""))
    assert without == [FormulaPair("a + b = c", "a+b=c", 0.0, 1, 0, 0)]


def test_thresholds_are_options() -> None:
    assert paired_formulas("$$ abcde $$", "$$ abcxy $$", "mathpix")[0].round == 2  # 2 / 5 is not below 0.4
    assert paired_formulas("$$ abcde $$", "$$ abcxy $$", "mathpix", thresholds=(0.5, 0.8))[0].round == 1


BOMB = "\\def\\d#1{#1#1}" + "\\d{" * 60 + "x" + "}" * 60


@pytest.mark.parametrize(
    ("source", "prediction", "side"),
    [
        (BOMB, "", "ground_truth"),
        ("", BOMB, "prediction"),
        ("x" * 2_000_001, "", "ground_truth"),
        ("", "x" * 2_000_001, "prediction"),
        (f"$${'ab' * 40_000}$$", f"$${'ba' * 40_000}$$", "sample"),
    ],
)
def test_what_cannot_be_paired_is_rejected_on_its_side(source: str, prediction: str, side: str) -> None:
    with pytest.raises(RejectedRecord) as rejected:
        paired_formulas(source, prediction, "latex")
    assert rejected.value.side == side


DIALECT_NAMES: dict[str, Dialect] = {"latex": "latex", "mathpix": "mathpix", "gpt4o": "gpt4o", "nougat": "nougat"}


def test_generated_documents_are_paired_as_they_were_made() -> None:
    rounds: set[int | None] = set()
    redundant = unanswered = 0
    for index in range(200):
        source, prediction, dialect = document(index, 7)
        pairs = paired_formulas(source, prediction, DIALECT_NAMES[dialect])
        rounds |= {pair.round for pair in pairs}
        redundant += sum(pair.truth is None for pair in pairs)
        unanswered += sum(pair.prediction is None for pair in pairs)
        body = source.partition("\\begin{document}")[2]
        displayed = sum(body.count(f"{opening} ") for opening in ("\\[", "\\be", "\\begin{align*}")) + body.count(
            "\\label"
        )
        displayed += body.partition("\\end{document}")[0].count("\n$$ ") - body.count("$$ removed")
        assert sum(pair.truth is not None for pair in pairs) == displayed
        assert not any(
            word in str(pair) for pair in pairs for word in ("not(a)", "draft", "removed", "after", "\\norm")
        )
    assert rounds == {1, 2, None}
    assert redundant
    assert unanswered


def test_a_generated_document_is_a_function_of_its_index_and_seed() -> None:
    assert document(3, 1) == document(3, 1) != document(4, 1)
