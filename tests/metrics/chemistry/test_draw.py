from __future__ import annotations

import pytest

from beamscore.metrics.chemistry.draw import atom_label


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
