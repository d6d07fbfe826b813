"""Glyphs, rules and marks of DVI files, written byte by byte, the boxes of tokens, and the images of formulas."""

import struct
from array import array
from itertools import chain

import numpy as np
import pytest
from PIL import Image, ImageChops

from beamscore.metrics.formula.latex.commands import COMMANDS, TEXT_SYMBOLS
from beamscore.metrics.formula.latex.normal_form import Unbalanced, normal_form
from beamscore.metrics.formula.latex.token_markup import Marked, marked
from beamscore.metrics.formula.render import boxes as module, dvi
from beamscore.metrics.formula.render.boxes import PIXELS_PER_UNIT, draw_image, drawing_steps, token_boxes
from beamscore.metrics.formula.render.dvi import Font, Ink, Page, UnreadableOutput, read_metrics, read_pages
from beamscore.metrics.formula.render.typeset import Failure, Typeset, Typesetter
from tests.metrics.formula.samples import as_marked, benchmark_with, documents, inks_of, pair, score, typeset_all

PIXEL = 1 / PIXELS_PER_UNIT


def ink(mark: int, left: float, top: float, right: float, bottom: float) -> Ink:
    """A rule with its sides in pixels."""
    edges = [round(side * PIXEL) for side in (left, top, right, bottom, bottom)]
    return Ink._make((mark, *edges, -1, 0))


def typeset(*inks: Ink, width: float = 9000) -> Typeset:
    page = Page(0, array("q", chain.from_iterable(inks)))
    return Typeset((page,), {}, margin=0, fall=0, width=round(width * PIXEL))


def test_a_box_spans_the_pixels_that_ink_covers_wholly() -> None:
    boxes = token_boxes(typeset(ink(0, 10.5, 20.5, 30.5, 40.5), ink(1, 50.1, 20.4, 50.4, 40.4)), ("a", "|"))
    # The image starts at pixel (10, 20) and ends at (50, 40), with 8 pixels of padding on each side.
    assert list(boxes.size) == [50 - 10 + 2 * 8, 40 - 20 + 2 * 8]
    # They cover the rows 21 to 39, and a the columns 11 to 29; of the bar the column that it touches stands for them.
    covered = np.array([[11, 21, 29, 39], [50, 21, 50, 39]])
    assert boxes.boxes.tolist() == (covered - [10, 20, 10, 20] + 8 + [-1, -1, 1, 1]).tolist()  # one pixel of margin


def test_whose_ink_makes_a_box() -> None:
    """All ink of a token, none of ink without a token, and nothing beyond the right edge of the paper."""
    boxes = token_boxes(typeset(ink(1, 0, 0, 10, 10), ink(-1, 20, 0, 30, 10), ink(1, 40, 5, 50, 20)), ("x", "y"))
    assert (boxes.tokens, boxes.boxes.tolist()) == (("y",), [[8 - 1, 8 - 1, 49 + 8 + 1, 19 + 8 + 1]])
    inks = ink(0, 0, 0, 10, 10), ink(1, 95, 0, 120, 10), ink(2, 130, 0, 140, 10), ink(3, -9, 0, -5, 5)
    boxes = token_boxes(typeset(*inks, width=100), tuple("abcd"))
    assert (boxes.tokens, boxes.size[0]) == (("a", "b"), 99 + 2 * 8)
    assert len(token_boxes(typeset(), ("a",))) == 0


def image(*rows: str) -> Image.Image:
    """A picture with # for black."""
    return Image.fromarray(np.array([[0 if cell == "#" else 255 for cell in row] for row in rows], dtype=np.uint8))


def test_rules_are_drawn_where_they_are() -> None:
    # The image starts 8 pixels left of and above the ink, at (2, 2).
    drawn = draw_image(typeset(ink(0, 10, 20, 30, 24), ink(1, 40, 10, 50, 51)))
    black = np.zeros(drawn.size[::-1], bool)
    black[20 - 2 : 24 - 2, 10 - 2 : 30 - 2] = black[10 - 2 : 51 - 2, 40 - 2 : 50 - 2] = True
    assert (np.asarray(drawn) == 0).tolist() == black.tolist()


def test_the_differences_of_images() -> None:
    # The second image has one column more.
    assert module.column_edit_distance(image("#.#", "..#"), image("#.##", "..#.")) == (1, 4)
    assert module.column_edit_distance(Image.new("L", (1, 1), 128), image(".")) == (0, 1)  # light grey is white
    # White rows below make no difference.
    assert module.column_edit_distance(image("#.#"), image("#.#", "...")) == (0, 3)
    # One of four pixels is black on one side alone; there is white beside the smaller.
    for smaller, larger in ((image("#."), image("#.", "#.")), (image("#"), image("##", ".."))):
        assert module.mean_squared_error(smaller, larger) == module.mean_squared_error(larger, smaller) == 1 / 4


def test_a_larger_image_shows_the_same(typesetter: Typesetter) -> None:
    (formula,) = typeset_all(typesetter, as_marked([r"\sum_{i=1}^n \frac{f(x)}{\sqrt{y}} + \widehat{g}"]))
    assert isinstance(formula, Typeset)
    # Their ink begins and ends beside the margin of 8 pixels.
    small, large = (draw_image(formula, dpi) for dpi in (200, 400))
    assert (inked := ImageChops.invert(small).getbbox()) is not None
    assert np.abs(np.subtract(inked, (8, 8, small.width - 8, small.height - 8))).max() <= 2
    inside, other = (each.crop((8, 8, each.width - 8, each.height - 8)) for each in (small, large))
    # It is 0.03 if glyphs are cut, and 0.07 if they are moved by 2.
    assert module.mean_squared_error(inside, other.resize(inside.size)) < 0.025


def test_the_steps_of_images_count_pieces_covered_pixels_and_padded_pixels() -> None:
    large, small = (typeset(ink(0, 0, 0, side, side)) for side in (999.9, 10))
    # 1000 + 16 pixels each way; one piece is 25, 1000 x 1000 covered / 4000 is nearly 250.
    assert drawing_steps([large]) == 25 + 249 + 1016 * 1016 // 500 + 1016 * 1016 // 100
    # The smaller is padded to the larger: its own 25, 10 x 10 / 4000 is 0.
    assert drawing_steps([large, small]) == 50 + 249 + 2 * 1016 * 1016 // 500 + 2 * 1016 * 1016 // 100
    # Clipped at 8000 pixels.
    assert draw_image(wide := typeset(ink(0, 0, 0, 8999, 3.9))).size == (8000, 4 + 16)
    assert drawing_steps([wide]) == 25 + 8000 * 3.9 // 4000 + 8000 * 8000 // 500 + 8000 * 20 // 100
    assert drawing_steps([]) == 0


def test_images_are_charged_before_they_are_drawn(monkeypatch: pytest.MonkeyPatch, typesetter: Typesetter) -> None:
    # More than 1000 x 8000 pixels: a step for 100 of them on each side, which neither takes without images.
    large = r"x \rule{400pt}{9000pt}"
    pairs = [pair("x", large), documents("No formula.", f"$$ {large} $$")]
    monkeypatch.setattr(module, "draw_image", lambda *_: pytest.fail("drawn"))
    benchmark, drawing = (benchmark_with(typesetter, max_steps=80_000, images=images) for images in (False, True))
    assert score(benchmark, *pairs)
    assert score(drawing, pair("{}", large))  # beside a ground truth without ink, nothing is drawn
    for side, each in zip(("sample", "prediction"), drawing.score(pairs), strict=True):
        assert str(each).startswith(f"{side}: scoring takes more work than max_steps=80000")


LEAVING_INK = [
    (r"\frac{a}{b} \sqrt[3]{x} \hat{x}_1^2 \mathbb{R}^{n}", r"\frac a b \sqrt 3 x \hat x 1 2 R n"),
    (r"\mathrm{d}x \quad \! \, \phantom{abc} x^1^2", "d x x 1 2"),
    (r"\left( x \right.", r"\left( x"),
    (r"\underbrace{a+b}_{c} \overline{z} \widehat{xy}", r"\underbrace a + b c \overline z \widehat x y"),
    (r"\xrightarrow[a]{b} \overset{a}{\to} \binom{n}{k}", r"\xrightarrow a b a \to \binom n k"),
    (r"\begin{cases} a & b \\ c & d \end{cases}", r"\left\{ a b c d"),
    (r"\begin{tabular}{|l|c|} \hline \multicolumn{2}{c}{ab} \\ \hline x & $y^2$ \end{tabular}", "a b x y 2"),
    (r"\begin{tabular}[t]{cc} a \\[1in] b \\*[1cm] c \\ \midrule[1pt] d & [x] \end{tabular}", "a b c d [ x ]"),
    (r"\begin{tabular}{cc} a & [5mm] \\ * & b \\ [2pt] c \end{tabular}", "a [ 5 m m ] * b c"),
    (r"\begin{tabular}{cc} a & \makebox[2cm]{b} \tabularnewline[2pt] c \hskip 2pt plus 1fil \end{tabular}", "a b c"),
    (r"\lbrack x \rbrack \slash \varGamma \sum\limits_{i}^{n}", r"\lbrack x \rbrack \slash \varGamma \sum i n"),
    (r"\text{面积} = \boldsymbol{x}", "面 积 = x"),
    (r"a \undefinedcommand b", "a b"),
    (r"\mathrm{" * 20 + "x" + "}" * 20, "x"),
    (r"\left( { b } _ \alpha", r"\left( b \alpha"),
]


def test_which_tokens_leave_ink(typesetter: Typesetter) -> None:
    formulas = as_marked([text for text, _ in LEAVING_INK])
    for formula, result, (_, expected) in zip(formulas, typeset_all(typesetter, formulas), LEAVING_INK, strict=True):
        assert isinstance(result, Typeset)
        assert " ".join(token_boxes(result, formula.labels).tokens) == expected


def shape(result: Typeset | Failure | None) -> list[tuple[int, int, int]] | None:
    """Each piece of ink as (character, left, top), from the left of all."""
    if not isinstance(result, Typeset):
        return None
    inks = next((inks_of(page) for page in result.pages if page.cells), [])
    left = min((ink.left for ink in inks), default=0)
    return [(ink.character, ink.left - left, ink.top) for ink in inks]


AS_TEX = (
    *(r"a \pmod{n} b", r"a \pod n^2", r"a \mod{n}", r"\sum_{p \equiv 1 \pmod 4} x", r"\frac{a \pmod n}{b}"),
    *(r"{a \atop b} c", r"\sum_{i<j \atop {k \atop l}} x", r"\left( a \atop b \right)", r"a \above 0pt b"),
    *(r"\sum_{\substack{i<j \\ \substack{k \\ l}}} x", r"\sqrt[a \atop b]{x}", r"\xrightarrow[a \atop b]{x}"),
    *(r"\frac{a \pmod}{b}", r"\begin{array}{cc} \multicolumn{2}{c|}{ab} \tabularnewline c & d \end{array}"),
    *(r"a \hskip 2pt plus 1fil minus 1pt b", r"a \hspace*{1em plus 1fil} b \rule[-2pt]{0pt}{2ex} \rule{2pt}{3pt}"),
    r"\begin{array}{c} a \\*b \\ *c \cr*d \tabularnewline *e \end{array}",
    *(r"\sum_{\substack{a\\*b \\ *c \cr*d}}", r"{x}_\begin{array}{c} a \end{array} b }", r"x^\left( a \right) b }"),
    r"\begin{array}{cc} \toprule \cmidrule(l){1-2} \multicolumn{2}{c}{A} \\ \addlinespace b \\ \bottomrule \end{array}",
    *(r"\quad_a + b^{c_2} \left( x", r"\left{ a + b \right."),
    *(rf"a{s} \textrm{{a{s}2{s}}} \frac{{\mbox{s}}}{{\fbox{s}}} a_{{\text{s}}} \text{{$2{s}$}}" for s in TEXT_SYMBOLS),
    *(rf"\mbox{{2$2${s}$2{s}$}}" for s in TEXT_SYMBOLS),
)


def test_what_the_normal_form_prints_is_what_tex_prints(typesetter: Typesetter) -> None:
    raw, own = (typeset_all(typesetter, side) for side in ([Marked(text, ()) for text in AS_TEX], as_marked(AS_TEX)))
    for text, left, right in zip(AS_TEX, map(shape, raw), map(shape, own), strict=True):
        assert np.allclose(left or 0, right or 1, rtol=0, atol=65536), text


UNLIKE = {"llap", "rlap", "underbar", "raisebox", "skew"}
"""Commands whose argument is text, where the blank after a mark is printed, or which await a number before a mark."""
BESIDE = {"overbrace", "underleftarrow", "underleftrightarrow", "underrightarrow"}
"""Commands of which a script below is set beside them, as of accents in the released tool."""


@pytest.mark.parametrize(("script", "others"), [("^", set()), ("_", BESIDE)])
def test_marks_do_not_change_what_a_command_prints(
    typesetter: Typesetter, monkeypatch: pytest.MonkeyPatch, script: str, others: set[str]
) -> None:
    monkeypatch.setattr(Typesetter, "_alone", lambda *_: Failure("only what a batch accepts is compared"))
    formulas = []
    for command in sorted(COMMANDS - UNLIKE - others):
        try:
            form = normal_form(rf"x \{command}{{a}}{{b}}{script}{{2}} y")
            formulas.append((command, marked(form), Marked(" ".join(form.tokens), ())))
        except Unbalanced:
            continue
    results = typesetter.typeset([side for _, *sides in formulas for side in sides])
    moved, compared = [], 0
    for command, own, bare in formulas:
        left, right = shape(results.get(own)), shape(results.get(bare))
        compared += left is not None
        # Marks keep TeX from kerning letters and from seeing that a nucleus is a single character: below 4 pt.
        if (left is None) != (right is None) or not np.allclose(left or [], right or [], rtol=0, atol=4 * 65536):
            moved.append(command)
    assert moved == []
    assert compared > 600


PREAMBLE = b"\xf7\x02" + struct.pack(">3i", 25400000, 473628672, 1000) + b"\x00"
# Character 65 is 1/2 of the size wide, 1/4 high and 1/8 deep; 66 leans 1/16 beyond its width besides.
HALF = {65: (1 << 19, 1 << 18, 1 << 17, 0), 66: (1 << 19, 1 << 18, 1 << 17, 1 << 16)}
# Defines and selects the font, at a size of 1024: 512 wide, 256 high, 128 deep.
FONT = b"\xf3\x00" + struct.pack(">3i", 0, 1024, 1024) + b"\x00\x04font" + b"\xab"
OPEN, EMPTY, CLOSE, AGAIN = b"\xef\x017", b"\xef\x00", b"\xef\x01.", b"\xef\x01;"


def page(body: bytes, number: int = 1) -> bytes:
    return b"\x8b" + struct.pack(">11i", number, *([0] * 9), -1) + body + b"\x8c"


def pages(data: bytes, fonts: dict[int, Font] | None = None) -> list[Page]:
    return list(read_pages(PREAMBLE + data, lambda name: HALF, {} if fonts is None else fonts, 0))


def test_the_sizes_of_the_glyphs_of_a_font() -> None:
    """A TFM file of the characters 64, which is not there, 65 and 66: each names its places in four tables."""
    counts = struct.pack(">12h", 0, 2, 64, 66, 2, 2, 2, 2, 0, 0, 0, 0)
    characters = bytes([0, 0, 0, 0, 1, 1 << 4 | 1, 0, 0, 1, 1 << 4 | 1, 1 << 2, 0])
    tables = struct.pack(">8i", 0, 1 << 19, 0, 1 << 18, 0, 1 << 17, 0, 1 << 16)
    assert read_metrics(counts + bytes(8) + characters + tables) == HALF


PLACES = [
    # Glyphs advance by their width, and ink reaches as far as a glyph leans.
    (FONT + b"BA", [Ink(-1, 0, -256, 512 + 64, 128, 0, 0, 66), Ink(-1, 512, -256, 1024, 128, 0, 0, 65)]),
    # One that is put advances nothing; one that the font lacks is nothing.
    (FONT + b"\x85A\x80A\x80C", [Ink(-1, 0, -256, 512, 128, 0, 0, 65)] * 2),
    # A rule reaches up from its place, 5 to the right and 100 down. One that is put advances nothing, one without
    # height is none.
    (
        b"\x8f\x05\x9f\x00\x00\x64"
        + b"".join(bytes([code]) + struct.pack(">2i", *size) for code, *size in
                   ((137, 30, 200), (132, 30, 200), (132, 0, 7), (137, 30, 200), (137, 1, 0))),
        [Ink(-1, left, 70, left + 200, 100, 100, -1, 0) for left in (5, 5, 212)],
    ),
    # Pushed places come back, and so do the movements: w, which is repeated, and 132 down.
    (
        FONT + b"\x8f\x0a\x94\x14\x8d\x8f\x01\x94\x02\x9e\x00\x84A\x8e\x93A",
        [Ink(-1, 33, 132 - 256, 545, 132 + 128, 132, 0, 65), Ink(-1, 50, -256, 562, 128, 0, 0, 65)],
    ),
    # Numbers are signed; y is repeated, and a font may have a longer number.
    (
        b"\xf4\x01\x00" + FONT[2:-1] + b"\xec\x01\x00" + b"\xa3\xff\xf0\xa1\x92\xff\xff\xff\xfeA",
        [Ink(-1, -2, -32 - 256, 510, -32 + 128, -32, 256, 65)],
    ),
]  # fmt: skip


def test_the_places_of_ink() -> None:
    for body, expected in PLACES:
        assert [inks_of(each) for each in pages(page(body))] == [expected]


def test_numbers_of_one_to_four_bytes() -> None:
    for size in range(1, 5):
        number = bytes(size - 1) + b"?"  # 63
        define = bytes([242 + size]) + number + FONT[2:-1]
        for choose in (bytes([234 + size]) + number, b"\xea"):
            for data in (define + page(choose + b"A"), page(define + choose + b"A")):
                assert [inks_of(each) for each in pages(data)] == [[Ink(-1, 0, -256, 512, 128, 0, 63, 65)]]
        for code, right, down in ((142, 63, 0), (147, 63, 0), (152, 63, 0), (156, 0, 63), (161, 0, 63), (166, 0, 63)):
            (only,) = pages(page(FONT + bytes([code + size]) + number + b"A"))
            assert inks_of(only) == [Ink(-1, right, down - 256, right + 512, down + 128, down, 0, 65)]
    (only,) = pages(page(FONT + b"\x93\x98\xa1\xa6A"))  # nothing was moved yet that could be repeated
    assert inks_of(only) == [Ink(-1, 0, -256, 512, 128, 0, 0, 65)]


def test_whose_ink_is_whose() -> None:
    for body, expected in {
        # Marks nest, and an empty one owns nothing.
        OPEN + EMPTY + b"A" + CLOSE + b"A" + CLOSE + b"A": ([-1, 7, -1], True),
        OPEN + b"A": ([7], False),
        b"A" + CLOSE: ([-1], False),
        # Ink behind the mark of a second display is not of the formula.
        b"A" + AGAIN: ([-1], True),
        AGAIN + b"A": ([-1], False),
    }.items():
        (only,) = pages(page(FONT + body))
        assert ([ink.mark for ink in inks_of(only)], only.balanced) == expected
        assert only.marks == ({7} if OPEN in body else set())


def test_a_page_that_is_cut_off_is_left_out_wherever_the_cut_is() -> None:
    both = (first := page(FONT + b"A", 1)) + page(b"\xabA" + OPEN, 2)
    for length in range(len(both) + 1):
        numbers = [each.number for each in pages(both[:length])]
        assert numbers == [1, 2][: (length >= len(first)) + (length == len(both))]


def test_a_page_with_too_much_ink_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dvi, "MAX_INKS", 2)
    assert len(inks_of(pages(page(FONT + b"\x8dAA\x8e"))[0])) == 2
    with pytest.raises(UnreadableOutput, match="more than 2 pieces"):
        pages(page(FONT + b"\x8dAAA\x8e"))


def test_a_font_is_read_once_and_at_its_size() -> None:
    fonts: dict[int, Font] = {}
    larger = FONT.replace(struct.pack(">i", 1024), struct.pack(">i", 2048)).replace(b"\x00\x04", b"\x01\x03")
    assert len(pages(page(larger) + page(FONT), fonts)) == 2
    assert fonts == {0: Font("font", 2048, {65: (1024, 512, 256, 0), 66: (1024, 512, 256, 128)})}
