"""Displayed formulas of LaTeX sources and of predictions in each dialect, comments, and macros of authors."""

import itertools
import re

import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.common.budget import Budget, OutOfBudget
from beamscore.metrics.formula.documents import source as module
from beamscore.metrics.formula.documents.dialects import DIALECTS, Formula, document_formulas, visible_markdown
from beamscore.metrics.formula.documents.displays import bare, math_score, prose_start
from beamscore.metrics.formula.documents.source import MAX_DEPTH, visible_source
from tests.work import executed_lines

NAMES = ("equation", "align", "gather", "multline", "eqnarray", "displaymath", "flalign")
DELIMITERS = [
    *(("\\[", "\\]"), ("$$", "$$")),
    *((f"\\begin{{{name}{star}}}", f"\\end{{{name}{star}}}") for name in NAMES for star in ("", "*")),
    *((f"\\begin{{{name}}}{{2}}", f"\\end{{{name}}}") for name in ("alignat", "xalignat", "xxalignat")),
]


def read(text: str, dialect: str) -> list[Formula]:
    """The displayed formulas of a document, whatever they cost."""
    return document_formulas(text, dialect, Budget(10**9))


def contents(text: str, dialect: str) -> list[str]:
    return [formula.content for formula in read(text, dialect)]


IN_LATEX = [
    # What is no part of the content.
    (r"\[ x \label{eq:{1}} \tag*{(1)} \nonumber y \]", ["x y"]),
    (r"$$ x \eqno(1) $$ \[ \alpha\label{a}b \]", ["x", r"\alpha b"]),
    (r"\[ x\ \] \[ x \\[2pt] y \\ \]", ["x\\ ", r"x \\[2pt] y \\"]),  # a control space needs its blank
    (r"\[ \] $$$$ \begin{equation}\label{a}\end{equation}", []),
    (r"\newcommand{\R}{\ensuremath{\mathbb{R}}\xspace} \[ \R \]", [r"{\mathbb{R}}"]),
    # What is printed by none of these is no part of it, nor are their arguments.
    (r"\[ x \addtocounter{equation}{1} \\index \setlength\arraycolsep{2pt} \raisetag{1pt} y \displaybreak[1] z \]",
     [r"x \\index y z"]),
    (r"\[ \resizebox{.9\linewidth}{!}{a} \scalebox{2}[1]{a} \raisebox{2pt}[1pt]{b} \penalty-10 \indexed{c} \]",
     [r"{a} {a} {b} \indexed{c}"]),
    # Where formulas are read.
    (r"$$ a $$ \begin{document} $$ b $$ \end{document} $$ c $$", ["b"]),
    ("% \\[ a \\]\n\\[ b % c\n d \\]", ["b d"]),
    (r"\def\be{\begin{equation}}\def\ee{\end{equation}}\be x \ee", ["x"]),
    (r"for 5 $ a \begin{equation} x \end{equation} $ b", ["x"]),
    (r"$$ x \text{ if $y$ or $a$$b$} $$ z $$ costs $ 5 $$", [r"x \text{ if $y$ or $a$$b$}", "costs $ 5"]),
    # Environments around the whole go, others stay.
    (r"\begin{equation}\begin{split} a &= b \end{split}\end{equation}", ["a &= b"]),
    (r"$$\begin{equation}\begin{align*} a &= b \end{align*}\end{equation}$$", ["a &= b"]),
]  # fmt: skip
IN_ALL = [
    # Never closed: up to the next blank line, delimiter or three words.
    (r"\[ a", ["a"]),
    ("\\[ a \n\n text \\[ b \\]", ["a", "b"]),
    (r"\begin{align} a \end{align*} text \] text \end{equation} \[ b \]", ["a", "b"]),
    (r"\[ a = b and so the sum is small, see \begin{align} c \end{align} and d = e \]", ["a = b", "c"]),
    ("\\begin{equation} a\n\n\\begin{align} b \\end{align} c \\end{equation} \\[ d \\]", ["a", "b", "d"]),
    # An odd $$ opens nothing, or is never closed.
    ("$$ x = 1 $$ and $$ y^2 where the sum is small. $$ z^2 $$ then $$ w^2 $$", ["x = 1", "y^2", "z^2", "w^2"]),
    ("$$ a $$ , $$ b $$ . $$ c", ["a", "b", "c"]),
    ("$$ x = 1 $$ y = 2 $$", ["x = 1"]),  # of equals the last
    (r"$$ and $$\begin{align} a \end{align}$$", ["a"]),
    (r"$$\[y\]$$x=1$$", [r"\[y\]"]),  # a whole display is more than an equation, and nothing is less
    ("$$ $$x=1$$", ["x=1"]),
    ("$$ x = 1\n\nlet y = 2 $$ so $$", ["x = 1", "so"]),
    ("we $$ one two three four five six seven $$ x = 1 $$ so", ["x = 1"]),
    # One within another is part of it.
    (r"\begin{gather} \begin{align} a \end{align} \\ c \end{gather}", [r"\begin{align} a \end{align} \\ c"]),
    (r"\begin{equation} \begin{gather} a \\ b \end{gather} \end{equation}", [r"a \\ b"]),
    ("$$\n\\begin{align}\na\n\nb\n\\end{align}\n$$ text $$ c $$", ["a b", "c"]),
    (r"$$ \begin{align} a $$ text $$ b $$", [r"\begin{align} a", "b"]),
    (r"\begin{align} a $$ b \end{align} text $$ c $$", ["a $$ b", "c"]),
    (r"\[ a \] \begin{align} b \] c \end{align}", ["a", r"b \] c"]),
    # A single $ without a partner.
    (r"Let $x be the sum. \[ y \] and $z$ more $$ w $$", ["y", "w"]),
    ("Let $x be the sum.\n\n$$ y $$ and $z$, $a$$b$$c$ and $a$$$ z $$", ["y", "z"]),
    (r"costs \$$x$, \$$a$ and \\$$ y $$", ["y"]),
]
IN_MARKDOWN = [
    ("mathpix", "```latex\n$$ x $$\n``` from $5 to $6, or $7 $$ y $$ for $8", []),
    ("gpt4o", "```math\nx = 1 % one\n```\n```latex\nx =\r\r\n\\frac{1}{2}\n```", ["x = 1", "x = \\frac{1}{2}"]),
    ("gpt4o", "```latex\n\\begin{tabular}{c} a \\end{tabular}\n```\n```tex\n$x$.\n```\n```tex\na \\\\\\(x\\)\n```", []),
    ("gpt4o", "```markdown\nPage 1 $$ x $$\n```\n```markdown\n$$ y $$\n```\nend $$ z $$", ["x", "y", "z"]),
    ("gpt4o", "~~~tex\n\\newcommand{\\R}{R}\n\\[ \\R \\]\n~~~\n```python\n$$ never closed $$", ["R"]),
    ("nougat", r"\[x=1,\tag{3}\] \(y\) \[z [MISSING_PAGE_FAIL:3] text \[ c \]", ["x=1,", "z", "c"]),
    # Inline code.
    ("gpt4o", "Write `$$ x $$` or ``\\[ ` y \\]``, then $$ z $$", ["z"]),
    ("gpt4o", "a `lone tick $$ x $$\n\nb` $$ y $$", ["x", "y"]),  # a blank line ends the paragraph
    ("gpt4o", "a `lone tick\n```python\n`x`\n$$ no $$\n```\n$$ y $$", ["y"]),  # and so does a fence
    ("gpt4o", "``so'' $$ x $$ and ``on'' $$ y $$ \\`$$ z $$ \\`", ["x", "y", "z"]),  # quotes of LaTeX, accents
    ("gpt4o", r"$$ \text{`so'} $$ and $$ \text{`on'} $$", [r"\text{`so'}", r"\text{`on'}"]),
    # Quotes, and relations that are none.
    ("gpt4o", "> We have\n>\n> $$\n> x = 1\n> + y\n> $$\n", ["x = 1 + y"]),
    ("gpt4o", "> \\[ x\n>\n> so \\[ z \\] and `a\n>\n> $$ y $$ `", ["x", "z", "y"]),  # a blank line of a quote
    ("gpt4o", "> $$ x\n> > 0 $$ and $$ z\n> = 1 $$", ["x > 0", "z = 1"]),
    ("gpt4o", "1. Set:\n   > Let $n$ be\n   > $$\n   > x = 1\n   > $$\n", ["x = 1"]),  # without a blank line before it
    ("mathpix", "Set:\n> \\begin{align*}\n> x\n> \\end{align*}\nand\n> we set \\[\n> y\n> \\]", ["x", "y"]),
    ("gpt4o", "Set:\n> ```math\n> x\n> ```\n", ["x"]),
    ("gpt4o", "\\[ x\n> \\begin{matrix} y\n> \\\\[2pt] z \\]", ["x > \\begin{matrix} y > \\\\[2pt] z"]),
    # Fences in lists and quotes, and longer ones.
    ("gpt4o", "1. One:\n   ```latex\n   x = 1\n   ```\n   - two\n     ```python\n     $$ no $$\n     ```", ["x = 1"]),
    ("gpt4o", "> ```latex\n> x = 1\n> ```\n> $$ y $$", ["x = 1", "y"]),
    ("gpt4o", "````python\n```\n$$ no $$\n````\n```python\n- ```\n$$ no $$\n```\n$$ y $$", ["y"]),
]
EXAMPLES = [("latex", *each) for each in IN_LATEX] + IN_MARKDOWN
EXAMPLES += [(dialect, *each) for each in IN_ALL for dialect in ("latex", "mathpix")]


@pytest.mark.parametrize(("dialect", "text", "expected"), EXAMPLES)
def test_examples(dialect: str, text: str, expected: list[str]) -> None:
    assert contents(text, dialect) == expected


def test_rows_are_in_an_environment_that_can_be_typeset() -> None:
    for source, latex in {
        r"\begin{align} a &= b \\ c &= d \end{align}": r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
        r"\begin{alignat}{2} a &= b \end{alignat}": r"\begin{aligned} a &= b \end{aligned}",
        r"\begin{gather} a \\ b \end{gather}": r"\begin{gathered} a \\ b \end{gathered}",
        r"\[ \begin{aligned}[t] a &= b \end{aligned} \]": r"\begin{aligned} a &= b \end{aligned}",
        r"\[ \begin{alignedat}[t]{2} a &= b \end{alignedat} \]": r"\begin{aligned} a &= b \end{aligned}",
        r"\begin{align} \begin{split}[b] &= a \end{split} \end{align}": r"\begin{aligned} {}[b] &= a \end{aligned}",
        r"\begin{gather} \begin{cases} a \end{cases} \\ b \end{gather}": (
            r"\begin{gathered} \begin{cases} a \end{cases} \\ b \end{gathered}"
        ),
        r"\begin{align} a = b \end{align}": "a = b",
        r"\begin{align} \begin{pmatrix} a & b \end{pmatrix} \end{align}": r"\begin{pmatrix} a & b \end{pmatrix}",
    }.items():
        assert [each.latex for each in read(source, "latex")] == [latex]


def test_an_offset_is_where_the_formula_opens_in_the_source() -> None:
    """Or where the macro is called that makes it."""
    source = "\\newcommand{\\keep}[1]{#1 $$ z $$}% c\n\\iffalse\\fi $$ x $$ \\keep{a \\[ x \\]} \\[ y \\]"
    assert [source[formula.offset :][:2] for formula in read(source, "latex")] == ["$$", "\\[", "\\k", "\\["]


FENCED = [("\n```latex\n", "\n```\n"), ("\n```math\n", "\n```\n")]
PARTS_OF_FORMULAS = st.sampled_from([
    *[r"x", r"= 1", r"x^2_3", r"\frac{a}{b}", r"&", r"\\", r"\\(a)", r"\ ", r"<", r"'", r"\{", r"\left\{"],
    *("| a |", "\n+ c", "\n- d", "\n# e", "* e", "1. f", "x\n> 0", "\\cite{a}", "`a'", "``b''"),
    # Words and prose, in other scripts too.
    *("profit per unit sold", "- variable cost per unit", "we see that the sum is small and", "\u5229\u6da6 \u6bcf"),
    # Dollars and inline mathematics.
    *[r"\$5", r"\%", r"\text{if $y$ holds}", r"\mbox{$a$$b$}", r"\text{item \(y\)}", r"\textrm{a $b$ \{}"],
    *[r"\begin{aligned} a & b \end{aligned}", r"\begin{cases} a \\ b \end{cases}", r"\begin{dcases} a \end{dcases}"],
])  # fmt: skip
FORMULA_TEXTS = st.lists(PARTS_OF_FORMULAS, min_size=1, max_size=8).map(" ".join)
WITH_BLANK_LINES = st.lists(st.one_of(PARTS_OF_FORMULAS, st.just("\n\ny")), min_size=1, max_size=8).map(" ".join)
TEXTS = [
    *("and", "where the sum is small.", "so $c$ is", "for $a$$b$ we", "\n\n", "\\$5 and", "(\\(x\\))"),
    *("see $x$, $y$; and", "it is so that we see that this is large"),
    *("\n\n# Title\n\n", "\n- item ", "\n\n> quote\n\n", "\n"),
]  # fmt: skip
MARKDOWN_TEXTS = ["from $5 to $6 for", "Write `$$` so", "``$$``", "\n```python\n$$ a\n```\n", "50% of"]
LATEX_TEXTS = ["% 5 $$\n", "\\verb|$$|", "\\begin{verbatim}$$\\end{verbatim}", "\\iffalse $$ \\fi", "\\url{a$$b}"]


@given(st.data(), st.sampled_from(DIALECTS))
def test_every_formula_is_found_whatever_its_text(data: st.DataObject, dialect: str) -> None:
    """At its place, in any of the delimiters of a dialect, with any text around it and nothing wrong."""
    texts = st.sampled_from(TEXTS + (LATEX_TEXTS if dialect == "latex" else MARKDOWN_TEXTS))
    source, expected = "", []
    for _ in range(data.draw(st.integers(1, 4))):
        opening, closing = data.draw(st.sampled_from(DELIMITERS + FENCED * (dialect == "gpt4o")))
        # A fenced block with a blank line in it is a text.
        formula = data.draw(FORMULA_TEXTS if "```" in opening else WITH_BLANK_LINES)
        blank = data.draw(st.sampled_from([" ", "\n", ""]))
        source += f" {data.draw(texts)} "
        expected.append((bare(" ".join(formula.split()), "")[0].split(), len(source) + ("```" in opening)))
        source += f"{opening}{blank}{formula}{blank}{closing}"
    found = read(f"{source} {data.draw(texts)}", dialect)
    assert [(formula.content.split(), formula.offset) for formula in found] == expected


SENTENCES = st.sampled_from([
    *("We now turn to the proof of this claim.", "where $c$ is the speed of light, and hence"),
    "Here the constant depends on the dimension only.\nIt is fixed from now on.",
    "\n\nThis follows from the lemma above.\n\n",
])  # fmt: skip
FORMULAS = st.sampled_from(
    ["E = m c^2", r"\frac{a}{b} + 1", r"\int_0^1 f(x) \, dx < \infty", r"x_{max} = 3 \text{ if the sum is small}"]
)


@given(st.lists(st.tuples(SENTENCES, FORMULAS), min_size=3, max_size=8), st.data())
def test_one_dollar_pair_too_few_or_too_many_costs_one_formula(
    pieces: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Whichever `$$` is dropped, or wherever one is added in the text, all other formulas are found."""
    numbered = [(sentence, f"{formula} + a_{{{index}}}") for index, (sentence, formula) in enumerate(pieces)]
    parts = [part for sentence, formula in numbered for part in (sentence, "$$", formula, "$$")] + ["The end is here."]
    wanted = [formula for _, formula in numbered]
    if data.draw(st.booleans()):
        dropped = data.draw(st.integers(0, 2 * len(numbered) - 1))
        del parts[4 * (dropped // 2) + (1 if dropped % 2 == 0 else 3)]
        wanted.pop(dropped // 2)
    else:
        parts.insert(4 * data.draw(st.integers(0, len(numbered))), "The prices in $$ are low here.")
    found = contents(" ".join(parts), data.draw(st.sampled_from(["latex", "mathpix"])))
    assert [content for content in found if content in wanted] == wanted
    assert len(found) <= len(wanted) + 1
    assert all(prose_start(content) == len(content) for content in found)


def test_mathematics_has_signs_and_prose_three_words_in_a_row() -> None:
    judged = {
        "a^2 + \\beta_1 = 3": (5, ""),  # ^ + \beta _ =
        "we see that the sum is small": (-5, "see that the sum is small"),  # five words of three letters or more
        "where x = 1": (0, ""),  # a word and a sign
        "\\text{if the sum is small} x_{max}": (1, ""),  # neither text within a formula nor a script is a word
        ".": (-1, ""),
        "we": (-1, ""),
        " ": (0, ""),
        "see $x$ and \\cite{a}": (-6, "see $x$ and \\cite{a}"),  # two for $x$ and for the citation each
        "# Title": (-3, "# Title"),  # a heading counts as two words
        "\u8fd9\u662f\u4e00\u4e2a": (-2, ""),  # four ideographs count as two words
        "x = 1 where the sum": (-2, "where the sum"),  # four words are needed for two signs
        "the sum = where the": (-3, ""),  # a sign between
    }
    assert {text: (math_score(text), text[prose_start(text) :]) for text in judged} == judged


PIECES = [
    *["$", "\n", "x", "%", "\\", "{", "}", "é", "[", "]", "`", ">", "-", " ", "``", "''", "1. ", "latex", "python"],
    *["$$", "\\[", "\\]", "\\begin{align}", "\\end{align}", "```", "```latex", "~~~", "\\label", "\\tag{", "\n\n"],
    *["\\begin{gather*}", "\\end{gather}", "\\text{", "where the sum is ", "[MISSING_PAGE_POST]"],
    *["\\iffalse", "\\fi", "\\else", "\\verb|", "\\begin{comment}", "\\end{comment}"],
]


@given(st.sampled_from(DIALECTS), st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_text_gives_formulas_in_order_and_what_is_visible_keeps_its_place(dialect: str, pieces: list[str]) -> None:
    text = "".join(pieces)
    found = read(text, dialect)
    assert found == read(text.replace("\n", "\r"), dialect)  # a CR alone ends a line
    offsets = [formula.offset for formula in found]
    assert offsets == sorted(set(offsets))
    assert all(0 <= offset < len(text) for offset in offsets)
    text = text.replace("[MISSING_PAGE_POST]", "")
    both = zip(visible_markdown(text, Budget(10**6)), text, strict=True)
    assert all(shown == kept or (shown == " " and kept != "\n") for shown, kept in both)
    assert all(shown in (" ", kept) for shown, kept in zip(visible_source(text), text, strict=True))


GIVEN = (
    *(r"\let\iffull\iffalse", r"\let \iffull = \iffalse", r"\expandafter\let\csname ifa\endcsname\iffalse"),
    *(r"\let\iffalse\iftrue", r"\def\iffull{\iffalse}", r"\newcommand{\iffull}{\iffalse }"),
    *(r"\newcommand\iffull\iffalse", r"\renewcommand{\iffull} \iffalse"),
)


def test_what_is_visible() -> None:
    def paragraphs(text: str) -> list[list[str]]:
        return [paragraph.split() for paragraph in re.split(r"\n\s*\n", text)]

    for source, expected in {
        "a % b\nc": "a \nc",
        "100\\% a": "100\\% a",
        "a \\\\% b\nc": "a \\\\\nc",  # `\\` is a line break, so the % after it is a comment
        "a\n  % alone\nb": "a\n  b",  # a blank line here would end the paragraph
        "a\n% alone\n\nb": "a\n\nb",
        "% all": "",
        "a \\iffalse b \\fi c": "a  c",
        "\\iffalse a \\ifx x y b \\else c \\fi d \\fi e": " e",
        "\\iffalse a \\else b \\fi c": " b  c",
        "a \\iffalse b\n\n\\else c \\fi d": "a  c  d",
        "\\iffalse a \\else \\ifx x y b \\fi c \\fi d": " \\ifx x y b \\fi c  d",
        "\\iffalse a % \\fi\n b \\fi c": " c",
        "\\newif\\ifdraft \\iffalse \\ifdraft a \\fi b \\fi c": "\\newif\\ifdraft  c",
        # Only a use of such a command would skip anything.
        **{f"{each} a % b\n\\iffalse c \\fi d": f"{each} a \n d" for each in GIVEN},
        "\\def\\a{\\iffalse % b\n} c": "\\def\\a{\\iffalse \n} c",
        "\\iffalse \\let\\x\\iffalse \\fi a \\fi b {\\iffalse}\\fi c": " b { c",  # they count in what is skipped
        "\\iffalse a \\iff b \\ifthenelse{c}{d}{e} \\fi c": " c",  # a sign, and a command with arguments
        "a \\iffalse never closed": "a ",
        "a\n\\begin{comment}\n% x\n\\end{comment}\nb": "a\nb",
        "a \\begin{comment} never closed": "a ",
        "\\verb|%| \\verb*+%+ b % c": "\\verb| | \\verb*+ + b ",
        "\\verb%a% b % c": "\\verb% % b ",  # the sign around it is no comment
        "\\begin{verbatim} % \\iffalse \\end{verbatim} % c": "\\begin{verbatim} \\end{verbatim} ",
        "\\verb{%} \\lstinline[a={%}]!%! \\verb|| \\verb*x % c": "\\verb{ } \\lstinline[a={%}]! ! \\verb|| \\verb*x ",
        "\\verb{ % a\n b} \\verb*| % b\n|": "\\verb{ \n b} \\verb*| \n|",  # not closed in their line
        **{f"\\verb|{'%' * count}|": f"\\verb|{shown}" for count, shown in ((2_000, " |"), (2_001, ""))},
        f"a\\verb|{'%' * 2_000}|": "a\\verb| |",
        "\\iffalse \\verb|\\fi| a \\fi b": " b",
        "\\url{http://a/%20b} % c": "\\url{ } ",
        "\\begin{verbatim} % never closed": "\\begin{verbatim} ",
    }.items():
        assert paragraphs(visible_source(source)) == paragraphs(expected), source


def expand_macros(text: str, max_steps: int = 10**6) -> str:
    return module.expand_macros(text, Budget(max_steps)).text


UNREADABLE = (
    *(r"\newcommand{\a}[1]{never closed", r"\newcommand{\a}[12]{x}", r"\def\begin{x}\begin{y}", r"\def\a.{x}\a."),
    *(r"\def\a#2#1{x}\a yz", r"\def\a#1;{x}\a y;", r"\let\a\b\a", r"\DeclarePairedDelimiter{\abs}{|}{|}\abs{x}"),
)
EXPANDED = {
    r"\newcommand{\a}[1]{\alpha#1}\a b": r"\alpha b",  # two tokens never become one
    r"\newcommand*{\n}[2][2]{\|#2\|_{#1}}\n{x}+\n[p]{y}": r"\|x\|_{2}+\|y\|_{p}",
    r"\newcommand{\a}{1}\a\renewcommand{\a}{2}\a": "12",
    r"\newcommand{\a}{1}\providecommand{\a}{2}\providecommand{\b}{3}\a\b": "13",
    r"\DeclareMathOperator{\tr}{tr}\tr A": r"\operatorname{tr} A",
    r"\DeclareMathOperator*{\best}{arg\,max}\best_x": r"\operatorname*{arg\,max}_x",
    r"\def\a#1{\def\b##1{#1##1}}\a{x}\b{y}": "xy",
    r"{\def\a{1}}\gdef\b{2}\a\b": "{}12",  # a definition holds to the end
    r"\def\a{\def\a{1}\a}\a": "1",  # a definition of the same name is no recursion
    r"\newcommand{\half}{1/2}\frac\half 3\sqrt\half x^\half": r"\frac{1/2} 3\sqrt{1/2} x^1/2",
    r"\def\h{1/2}\frac{x_{1}}\h \frac{\}{}} \h\h \overset{" + "x" * 200 + r"}\h": (
        r"\frac{x_{1}}{1/2} \frac{\}{}} {1/2}1/2 \overset{" + "x" * 200 + "}{1/2}"
    ),
    r"\def\h{1/2}\xrightarrow\h\xleftarrow[{a}]\h {x}\h \frac\}\h }\h \frac\\}\h": (
        r"\xrightarrow{1/2}\xleftarrow[{a}]{1/2} {x}1/2 \frac\}{1/2} }1/2 \frac\\}1/2"
    ),
    r"\newcommand{\a}{\a b}\a": r"\a b",  # recursion is not followed
    r"\def\a#1#2{<#2|#1>}\def\b#1{\a{#1}{x#1}}\b{\b y}": "<x<xy|y>|<xy|y>>",
    r"\newcommand{\m}[1]{<#1>}\newcommand{\n}{\m}\n{x}": "<x>",  # another name of a macro takes its arguments
    r"\newcommand{\a}{\b}\newcommand{\b}{\a}\a": r"\a",
    r"\newcommand{\a}[1]{<#1>}{\a}": r"{\a}",
    r"\newcommand{\a}[1]{<#1>}\a{never closed": r"\a{never closed",
    "\\a{b} c % \\defy\n": "\\a{b} c % \\defy\n",
    **{same: same for same in UNREADABLE},
}


def test_what_is_expanded() -> None:
    assert {source: expand_macros(source) for source in EXPANDED} == EXPANDED


def test_calls_are_followed_to_a_depth() -> None:
    names = ["".join(letters) for letters in itertools.product("ghijklmn", repeat=3)]
    chain = "".join(f"\\def\\{name}{{x\\{following}}}" for name, following in itertools.pairwise(names))
    assert expand_macros(f"{chain}\\ggg") == "x" * MAX_DEPTH + f"\\{names[MAX_DEPTH]}"
    nested = "\\d{" * 1_000 + "x" + "}" * 1_000
    assert expand_macros(f"\\def\\d#1{{#1}}{nested}").count("{") == 1_000 - MAX_DEPTH


BOMBS = {
    "laughs": "".join(f"\\def\\{a}{{" + f"\\{b}" * 10 + "}" for a, b in itertools.pairwise("abcdefghij")) + "\\a",
    "wide": "\\def\\d#1{" + "#1" * 20_000 + "}\\d{\\d{\\d{x}}}",
    "quadratic": "\\def\\a{" + "\\b" * 10_000 + "}\\def\\b{" + "x" * 10_000 + "}\\a",
    "groups": "\\def\\a{xy}{" + "{x}" * 3_000 + "}\\a" * 3_000,
    "no group": "\\def\\a{xy}" + "x" * 30_000 + "}\\a" * 30,
    "no end": "\\def\\a#1{}" + "\\a{" * 3_000 + "x" * 30_000,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_stopped(bomb: str) -> None:
    def stopped() -> None:
        with pytest.raises(OutOfBudget, match="max_steps=60000"):
            expand_macros(BOMBS[bomb], max_steps=60_000)

    assert executed_lines(stopped) < 300_000  # five to a step
