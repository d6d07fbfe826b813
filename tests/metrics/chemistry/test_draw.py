from __future__ import annotations

from xml.etree import ElementTree

import pytest

from beamscore.metrics.chemistry.benchmark import ChemistryBenchmark
from beamscore.metrics.chemistry.draw import atom_label
from beamscore.metrics.chemistry.records import ChemistryOptions, ChemistryPrediction, ChemistryTruth
from beamscore.metrics.common.svg import EXTRA, MISSED


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("CH_{3}", "CH₃"),
        ("NH_4^+", "NH₄⁺"),
        ("SO_{3}^{2-}", "SO₃²⁻"),
        ("C_{10}H_{8}", "C₁₀H₈"),
        ("R_{\\alpha}", "R_{\\alpha}"),
        ("OH", "OH"),
        ("C_{}H^{}", "C_{}H^{}"),
    ],
)
def test_atoms_are_written_as_a_chemist_reads_them(text: str, label: str) -> None:
    assert atom_label(text) == label


@pytest.mark.parametrize(
    ("true", "predicted", "color"), [("A-[2]B", "A-[2]B-[2]C", EXTRA.color), ("A-[2]B-[2]C", "A-[2]B", MISSED.color)]
)
def test_atoms_of_one_side_alone_are_missed_or_extra(true: str, predicted: str, color: str) -> None:
    benchmark = ChemistryBenchmark(ChemistryOptions())
    texts = f"\\chemfig{{{true}}}", f"\\chemfig{{{predicted}}}"
    svg = ElementTree.fromstring(benchmark.draw(ChemistryTruth(texts[0]), ChemistryPrediction(texts[1])))
    assert [each.get("fill") for each in svg.iter("{http://www.w3.org/2000/svg}text") if each.text == "C"] == [color]
