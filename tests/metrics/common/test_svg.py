from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.svg import Drawing, Style


@given(st.text())
def test_any_text_makes_a_document_of_its_own_shapes(text: str) -> None:
    drawing = Drawing()
    drawing.text(1, 2, text)
    drawing.box(0, 0, 5, 5, Style(text, "#000000"), text)
    root = ElementTree.fromstring(drawing.document(10, 20))
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("10", "20", "0 0 10 20")
    names = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert names == ["svg", "rect", "text", "polygon", *(["title"] if text else [])]
