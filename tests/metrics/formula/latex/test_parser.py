"""The normal form of formulas and tables, and the vocabulary that TeX is given."""

import re
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from beamscore.metrics.formula.latex.commands import sanitize, words
from beamscore.metrics.formula.latex.normal_form import Unbalanced, normal_form
from beamscore.metrics.formula.latex.parser import MAX_DEPTH
from beamscore.metrics.formula.latex.token_markup import marked
from tests.laws import tries
from tests.metrics.formula.samples import as_marked


def printed(text: str, released: bool = False) -> str:
    return " ".join(normal_form(text, released).tokens)


FORMS = {
    "x^2_i x''' x'^2": r"x _ { i } ^ { 2 } x ^ { \prime \prime \prime } x ^ { \prime 2 }",
    r"\frac12 \dfrac  a {b} \hat\alpha": r"\frac { 1 } { 2 } \frac { a } { b } \hat { \alpha }",
    r"a+b \over c": r"\frac { a + b } { c }",
    r"{a+b} \over {c}": r"\frac { a + b } { c }",
    r"{n \choose k} {a \above 1 pt b}": r"{ \binom { n } { k } } { \frac { a } { b } }",
    r"\text{if } x \text{\kern 1 pt x}": r"\mathrm { i f ~ } x \mathrm { \kern 1pt ~ x }",
    # Mathematics in text is read as elsewhere.
    r"\text{if $\frac {a} b$ \textbf {c} \( x _ 2 ' \) \$ $\left ( y \right )$ \mbox{d $ e$} $z}": (
        r"\mathrm { i f ~ \frac { a } { b } ~ \mathrm { c } ~ x _ { 2 } ^ { \prime } ~ \$ ~ \left( y \right) ~ "
        r"\mathrm { d ~ e } ~ z }"
    ),
    r"{\rm d}x {\cal L} \mathrm{\phi\to}": r"\mathrm { d } x { \cal L } \mathrm { \  p h i \to }",
    r"\sqrt[3]{x} \root n+1 \of x": r"\sqrt [ 3 ] { x } \sqrt [ n + 1 ] { x }",
    r"\sin x \operatorname{sin}x \bmod y": r"\mathrm { s i n } x \mathrm { s i n } x \mathrm { m o d } y",
    r"\operatorname*{max}_x \lim\limits_{n}": r"\operatorname { m a x } _ { x } \operatorname { l i m } _ { n }",
    r"\smash[b]{x} \cfrac[l]{a}{b} a,\ldots,b": r"\smash { x } \frac { a } { b } a , . . . , b",
    r"\buildrel a \over =": r"\stackrel { a } { = }",
    r"\sum_{\substack{a \\[2pt] b\\c}}": r"\sum _ { \substack { a \\ b \\ c } }",
    r"\big( x \Bigr\rangle \left( x \middle| y \right]": r"\big( x \Bigr\rangle \left( x \middle| y \right]",
    r"a \hspace { 1 . 5 c m } b \color{red} x \textcolor{blue}{y}": r"a \hspace{1.5cm} b x { y }",
    r"50\% \label{eq:1} $$x$$ a \\ b % a comment": r"5 0 \% x a \, b",
    # Environments of rows become arrays.
    r"\begin{equation} x \end{equation}": "x",
    r"\begin{align*} a &= b \\ & \multicolumn{1}{l}{d} \end{align*}": (
        r"\begin{array} {rl} { a } & { { } = b } \\ & \multicolumn { 1 } { l } { d } \end{array}"
    ),
    r"\begin{alignedat}[t]{2} x \end{alignedat}": r"\begin{array} {r} { x } \end{array}",
    r"\begin{pmatrix} a & b \\ \end{pmatrix}": r"\left( \begin{array} {ll} { a } & { b } \end{array} \right)",
    r"\begin{pmatrix*}[r] 1 & 2 \end{pmatrix*}": r"\left( \begin{array} {rr} { 1 } & { 2 } \end{array} \right)",
    r"\begin{cases} a & b \end{cases}": r"\left\{ \begin{array} {ll} { a } & { b } \end{array} \right.",
    r"\begin{array}{r@{\hspace{2pt}}c!{\color{red}\vrule}l} a & b & c \end{array}": (
        r"\begin{array} {rcl} { a } & { b } & { c } \end{array}"
    ),
    r"\begin{array}[t]{c} a \\[2pt] \hline b \end{array}": r"\begin{array} {c} { a } \\ \hline { b } \end{array}",
    r"\begin{tabular}{c} $\begin{array}{lr} a & b \end{array}$ \end{tabular}": (
        r"\begin{tabular}{c} $ \begin{array} {lr} a & b \end{array} $ \end{tabular}"
    ),
    # Positions and distances of tables are no ink.
    r"\begin{tabular}[t]{@{}c@{}c} a \\*[-1.5 ex] b & [x] \\ \cmidrule[1pt](lr){1-2} \midrule[2cm]": (
        r"\begin{tabular}[t]{@{}c@{}c} a \\ b & [ x ] \\ \cmidrule[1pt](lr){1-2} \midrule \end{tabular}"
    ),
    # Tables keep their rules, lose blanks and skips, and get the end that they lack.
    r"\begin{tabular}{l|c} ab & $\dfrac{x_1}2$ \\ \cmidrule(l{3pt}r{3pt}){1-1} \end{tabular}": (
        r"\begin{tabular}{l|c} a b & $ \frac { x _ 1 } { 2 } $ \\ \cmidrule(l{3pt}r{3pt}){1-1} \end{tabular}"
    ),
    r"\begin{tabular}{c} x \hspace{1cm} \specialrule{1pt}{2pt}{3pt} y": (
        r"\begin{tabular}{c} x \specialrule{1pt}{2pt}{3pt} y \end{tabular}"
    ),
}


def test_normal_form() -> None:
    assert {text: printed(text) for text in FORMS} == FORMS
    # Rows, too, are their own normal form, in which a cell in braces is given no more.
    assert [form for form in FORMS.values() if printed(form) != form and "tabular" not in form] == []
    assert all(normal_form(text).parsed for text in FORMS)


LAYOUT = (
    r"\begin{figure}[h] \hhline{==} \Xhline{2pt} \Xcline{1-2}{1pt} \hdashline[1pt/2pt] \rowcolors[b]{1}{c}{d} "
    r"\arrayrulecolor[e]{f} \doublerulesepcolor{g} \noalign{\vspace*{1pt}\global\jot1pt\hrule\smallskip} \jot 2pt "
    r"\noalign{\medskip\nointerlineskip\vfil\hline\nobreak} "
    r"\global\heavyrulewidth=1pt \advance\bigskipamount by 1pt \renewcommand{\baselinestretch}{1.2} \linespread{1.2} "
    r"\hglue 1pt plus 1fil \vglue\jot \addvspace{1pt} \hrule height 1pt \lower 1pt \moveleft 1pt \moveright\jot "
    r"\rotatebox[h]{90} \parbox[b][1cm][t]{2cm} \vtop spread 1pt{\framebox[1cm]{\makebox[1cm][l]{\vcenter to 1cm{a}}}}"
)
SPELLINGS = {
    "x^a^b": ("x ^ { a } { } ^ { b }", "x ^ { b }"),
    "x_a_b^c": ("x _ { a } { } _ { b } ^ { c }", "x _ { b } ^ { c }"),
    "x^a_b^c_d": ("x _ { b } ^ { a } { } _ { d } ^ { c }", "x _ { d } ^ { c }"),
    "x'^2": (r"x ^ { \prime 2 }", "x ^ { 2 }"),  # TeX joins what follows the primes at once, and only that
    "x'_a^2": (r"x _ { a } ^ { \prime } { } ^ { 2 }", "x _ { a } ^ { 2 }"),
    "x^2''": (r"x ^ { 2 } { } ^ { \prime \prime }", r"x ^ { \prime \prime }"),
    "x^{a^b}^c": ("x ^ { a ^ { b } } { } ^ { c }", "x ^ { c }"),
    # The tool restores \\sup, which it spells out where it is written so.
    r"\sup_x \operatorname{sup}_x": (
        r"\operatorname { s u p } _ { x } \operatorname { s u p } _ { x }",
        r"\operatorname { s u p } _ { x } \sup _ { x }",
    ),
    # It prints no parentheses of a modulus, and parentheses around any fraction without a rule.
    r"\pmod{n}^2 \pod\hat n": (
        r"\mkern 18mu ( \mathrm { m o d } \, \, n ) ^ { 2 } \mkern 18mu ( \hat { n } )",
        r"\mathrm { m o d } { n } ^ { 2 } \pod { \hat { n } }",
    ),
    r"\mod{n} \pmod": (
        r"\mkern 18mu \mathrm { m o d } \, \, { n } \mkern 18mu ( \mathrm { m o d } \, \, )",
        r"\mathrm { m o d } { n } \mathrm { m o d }",
    ),
    # What TeX reads only at the start of a cell has nothing before it.
    r"\begin{aligned} a & \multicolumn{1}{c}{b} \\ c & d \cline{1-2} \end{aligned}": (
        r"\begin{array} {rl} { a } & \multicolumn { 1 } { c } { b } \\ { c } & { { } d \cline{1-2} } \end{array}",
        r"\begin{array} {rl} { a } & { { } \multicolumn { 1 } { c } { b } } \\ "
        r"{ c } & { { } d \cline{1-2} } \end{array}",
    ),
    r"a \atop b": (r"{ a } \atop { b }", r"\binom { a } { b }"),
    r"{a} \brace {b}": (r"\left\{ { a } \atop { b } \right\}", r"\binom { a } { b }"),
    r"a \brack b": (r"\left[ { a } \atop { b } \right]", r"\binom { a } { b }"),
    r"a \above 0.0pt b": (r"{ a } \atop { b }", r"\frac { a } { b }"),
    r"\genfrac[]{.1pt}{}ab {c \atopwithdelims.) d} {e \abovewithdelims()0pt f} \genfrac{}{}{0pt}1gh^2": (
        r"\left[ \frac { a } { b } \right] { \left. { c } \atop { d } \right) } { \binom { e } { f } } "
        r"{ { g } \atop { h } } ^ { 2 }",
        r"\genfrac [ ] { . 1 p t } { } a b { c \atopwithdelims . ) d } { e \abovewithdelims ( ) 0 p t f } "
        r"\genfrac { } { } { 0 p t } 1 g h ^ { 2 }",
    ),
    r"\$ 5 $ \\$x$": (r"\$ 5 \, x", r"\  5 \, x"),
    # To the tool, unknown commands in roman are text, as are Greek letters, which may also be in boxes.
    r"\mathrm{\foo\color{1}} {\rm\foo} \mathrm{\hbox{\pi}\text{\pi}\pi}": (
        r"\mathrm { \foo } \mathrm { \foo } \mathrm { \mathrm { \pi } \mathrm { \pi } \  p i }",
        r"\mathrm { \  f o o \  c o l o r { 1 } } \mathrm { \  f o o } "
        r"\mathrm { \mathrm { \  p i } \mathrm { \  p i } \  p i }",
    ),
    # To the tool, what arguments of layout say is part of the formula.
    r"a \mspace{3mu} b \\ \index{c} \scalebox{.9}{$d$}": (
        r"a b \, { d }",
        r"a \mspace { 3 m u } b \, \index { c } \scalebox { . 9 } { d }",
    ),
    r"\raise 2 p t \hbox to 1cm{\pi} \vrule height\jot width 1pt \kern-2\jot \hspace{\textwidth plus 1fil} a": (
        r"\mathrm { \pi } a",
        r"\raise 2 p t \mathrm { t } o 1 c m { \pi } \vrule h e i g h t \jot w i d t h 1 p t \kern - 2 \jot "
        r"\hspace { \textwidth p l u s 1 f i l } a",
    ),
    r"\jot=2pt \def\arraystretch{1}\begin{array}{c} a \\[\jot] \noalign{\vskip 2pt} \rowcolor[gray]{.9}b \end{array}": (
        r"\begin{array} {c} { a } \\ { b } \end{array}",
        r"\jot = 2 p t \def \arraystretch { 1 } \begin{array} {c} { a } \\ { [ \jot ] \noalign { \vskip 2pt } "
        r"g r a y ] { . 9 } b } \end{array}",
    ),
    r"\begin{tabular}{c} a \\[\jot] \cdashline{1-1}[1pt/2pt] \rule{0pt}{2\jot} \toprule[\jot] \addlinespace[\jot]": (
        r"\begin{tabular}{c} a \\ \toprule \addlinespace \end{tabular}",
        r"\begin{tabular}{c} a \\ [ \jot ] \cdashline { 1 - 1 } [ 1 p t / 2 p t ] "
        r"\rule { 0 p t } { 2 \jot } \toprule [ \jot ] \addlinespace [ \jot ] \end{tabular}",
    ),
    # Numbers, shifts, colors and positions are no ink.
    r"\sqrt[\leftroot{-2}\uproot2 3]{\skew3\hat a} \definecolor{a}{rgb}{1,0,0} \fcolorbox{a}[b]{c}x \tag*{1}\eqno(2": (
        r"\sqrt [ 3 ] { \hat { a } } \boxed { x }",
        r"\sqrt [ \leftroot { - 2 } \uproot 2 3 ] { \skew 3 \hat { a } } \definecolor { a } { r g b } { 1 , 0 , 0 } "
        r"\fcolorbox { a } [ b ] { c } x \tag * { 1 } \eqno ( 2",
    ),
    r"\hspace*{\fill} \hspace{\stretch{1}}\shortstack[l]{a}\begin{alignedat}[t]{2} b\eqno\cr{d\eqno}\end{alignedat}": (
        r"\shortstack { a } \begin{array} {r} { b } \\ { d } \end{array}",
        r"\hspace * { \fill } \hspace { \stretch { 1 } } \shortstack [ l ] { a } \begin{array} {r} { { 2 } b "
        r"\eqno } \\ { { d \eqno } } \end{array}",
    ),
    r"\begin{tabular}{c} \midrule[1bp] \addlinespace[.1 truein plus 1pt] * \hspace{\fill} {a} [2pt] \makecell [r]{b}": (
        r"\begin{tabular}{c} \midrule \addlinespace * { a } [ 2 p t ] \makecell { b } \end{tabular}",
        r"\begin{tabular}{c} \midrule [ 1 b p ] \addlinespace [ . 1 t r u e i n p l u s 1 p t ] * \hspace { \fill } "
        r"{ a } [2pt] \makecell [ r ] { b } \end{tabular}",
    ),
    # \noalign prints text, and brackets belong to the cell where the command has none behind its argument.
    (text := r"\noalign{\vskip 2pt\hbox{b}} \noalign{c} \arrayrulecolor{d}[1] \rotatebox{90}[2] \parbox{1cm}[3] }"): (
        r"\noalign { \mathrm { b } } \noalign { c } [ 1 ] [ 2 ] [ 3 ] }",
        text,
    ),
    (text := r"\makebox[1cm]x \makeboxes{b} \vboxes{b} }"): (r"\mathrm { x } \makeboxes { b } \vboxes { b } }", text),
    LAYOUT: (r"{ \boxed { \mathrm { \vcenter { a } } } }", LAYOUT),
    # Line breaks lose their distance, skips keep all of their length, and a word makes neither a table nor rows.
    r"a \\*[2pt] \hskip 1pt plus 1 fil minus -2pt b": (
        r"a \, \hskip 1ptplus1filminus-2pt b",
        r"a \, * [ 2 p t ] \hskip 1pt p l u s 1 f i l m i n u s - 2 p t b",
    ),
    r"a \\ \frac12 \text{ cases}": (
        r"a \, \frac { 1 } { 2 } \mathrm { ~ c a s e s }",
        r"a \\ \frac12 \text{ cases}",
    ),
    r"\begin{array}{cc} \frac12 \tabularnewline[1ex] \hline \hdotsfor[2]2 \end{array}": (
        r"\begin{array} {cc} { \frac { 1 } { 2 } } \\ \hline \multicolumn { 2 } { c } { . . . } \end{array}",
        r"\begin{array} {cc} \frac { 1 } { 2 } \tabularnewline [1ex] \hline \hdotsfor [ 2 ] 2 \end{array} "
        r"\end{tabular}",
    ),
    r"\begin{table*}[h] \begin{minipage}[t][5cm][c]{3cm} \begin{tabular}{c} a \hskip 2pt plus 1fil b \label{x}": (
        r"\begin{tabular}{c} a b \end{tabular}",
        r"\begin{table*} [ h ] \begin{minipage} [ t ] [5cm] [ c ] { 3 c m } \begin{tabular}{c} a "
        r"\hskip 2 p t p l u s 1 f i l b \label { x } \end{tabular}",
    ),
    r"\begin{tabular}{c} a \\[2pt]\% b \tabularnewline[2pt]c \\[2pt]*d": (
        r"\begin{tabular}{c} a \\ \% b \tabularnewline c \\ * d \end{tabular}",
        r"\begin{tabular}{c} a \\ [2pt] \% b \tabularnewline [2pt] c \\ [2pt] * d \end{tabular}",
    ),
    r"\begin {tabular*} {5cm} {c} \rule[-2pt]{0pt}{2ex} \\[.1in] \hspace*{1em} \tabularnewline* \hskip\tabcolsep": (
        r"\begin{tabular}{c} \rule[-2pt]{0pt}{2ex} \\ \tabularnewline \end{tabular}",
        r"\begin{tabular*} { 5 c m } { c } \rule [-2pt] { 0 p t } { 2 e x } \\ [ . 1 i n ] \hspace * { 1 e m } "
        r"\tabularnewline * \hskip \tabcolsep \end{tabular}",
    ),
    r"\begin{ tabularx }{5cm}[t]{|X*2{>{X}R}@{X}} a \end{tabularx}": (
        r"\begin{tabular}[t]{|l*2{>{X}r}@{X}} a \end{tabular}",
        r"\begin{tabularx} { 5 c m } [ t ] { | X * 2 { > { X } R } @ { X } } a \end{tabularx} \end{tabular}",
    ),
    (text := r"\begin{adjustbox}{width=3cm} \begin{wraptable}{r}{5cm} \begin{subfigure}[b]{3cm} \begin{figure}[h] a"): (
        "a",
        text,
    ),
    r"\begin{sidewaystable}[h] a \\label{x} \kern 1pt plus": (
        r"a \, l a b e l { x } \kern 1pt p l u s",
        r"\begin{sidewaystable}[h] a \\label{x} \kern 1pt plus",
    ),
    r"\hspace*{1.23456789012345678901 em plus 0.5 pt minus 0.5 fil}": (
        r"\hspace*{1.23456789012345678901emplus0.5ptminus0.5fil}",
        r"\hspace * { 1 . 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 e m p l u s 0 . 5 p t m i n u s 0 . 5 f i l }",
    ),
    (text := rf"\color[{'a' * 40}]{{1}} y"): ("y", text),
    r"\begin{array}{c} a \\*[2pt plus 1fil] \substack{b \\[.1in minus 1pt] c} \end{array}": (
        r"\begin{array} {c} { a } \\ { \substack { b \\ c } } \end{array}",
        r"\begin{array} {c} { a } \\ { [ 2 p t p l u s 1 f i l ] \substack { b \\ [ . 1 i n m i n u s 1 p t ] c } } "
        r"\end{array}",
    ),
    # Brackets behind \begin are a position in some environments alone, for the tool in all.
    **{
        rf"\begin{{{name}}} [ b ] x \end{{{name}}}": (
            rf"\begin{{array}} {{{column}}} {{ {'' if 'ed' in name else '[ b ] '}x }} \end{{array}}",
            rf"\begin{{array}} {{{column}}} {{ x }} \end{{array}}",
        )
        for column, names in {"r": "align split aligned alignedat", "c": "gather gathered", "l": "matrix"}.items()
        for name in names.split()
    },
    # Columns may be repeated without braces and within each other, be paragraphs, and have a letter of their own.
    r"\begin{array}{|c|*2r@{r}*{2}{*{1}{l@{}}}p{2cm}X[r]{1}*{999999}{c}} a \end{array}": (
        rf"\begin{{array}} {{crrllll{'c' * 93}}} {{ a }} \end{{array}}",
        rf"\begin{{array}} {{crlr{'c' * 96}}} {{ a }} \end{{array}}",
    ),
    # What TeX reads only at the start of a cell has no braces, and cells that it spans are columns.
    r"\begin{pmatrix*}[r] \cline{1-2} \multicolumn{2}{c}{A} & b \end{pmatrix*}": (
        r"\left( \begin{array} {rrr} \cline{1-2} \multicolumn { 2 } { c } { A } & { b } \end{array} \right)",
        r"\left( \begin{array} {rr} { \cline{1-2} \multicolumn { 2 } { c } { A } } & { b } \end{array} \right)",
    ),
    r"\begin{align} a & \multicolumn1cb \\ \toprule[2pt] c \end{align}": (
        r"\begin{array} {rl} { a } & \multicolumn { 1 } { c } { b } \\ \toprule c \end{array}",
        r"\begin{array} {rl} { a } & { { } \multicolumn 1 c b } \\ { \toprule [ 2 p t ] c } \end{array}",
    ),
    # Beside Chinese characters, and only there.
    r"x，\text{面：}；": (r"x ， \mathrm { 面 ： } ；", r"x , \mathrm { 面 : ~ } ;"),
    "x㐀，": ("x 㐀 ，", "x 㐀 ，"),
    r"\begin{tabular}{c} \multirow[t]2*[2pt]x": (
        r"\begin{tabular}{c} \multirow [ t ] { 2 } { * } [ 2 p t ] { x } \end{tabular}",
        r"\begin{tabular}{c} \multirow [ t ] 2 * [ 2 p t ] x \end{tabular}",
    ),
    # A comment ends with its line, and the tool joins all lines before it cuts at one.
    **dict.fromkeys(("a % b\n+ c", "a % b\r+ c", "a % b\r\n+ c"), ("a + c", "a")),
    "% a\nb \\alpha% c\nd \\% e": (r"b \alpha d \% e", r"a b \alpha"),
    "\\begin{align}%\n a &= b \\\\ % c\n d \\end{align}": (
        r"\begin{array} {rl} { a } & { { } = b } \\ { d } \end{array}",
        r"\begin{align}% a &= b \\ % c d \end{align}",
    ),
    # A text that does not parse is split into LaTeX tokens.
    "a+b}": ("a + b }", "a+b}"),
    r"\begin{pmatrix}a\end{bmatrix}": (r"\begin{pmatrix} a \end{bmatrix}", r"\begin{pmatrix}a\end{bmatrix}"),
    r"a \,[3pt] \\ [ -1.5 e m ] c \\*[2] d \kern1pt \hskip 1 em plus .5 fil \hspace*{1 cm} \mkern-3mu }": (
        r"a \, [ 3 p t ] \, c \, [ 2 ] d }",
        r"a \,[3pt] \\ [ -1.5 e m ] c \\*[2] d \kern1pt \hskip 1 em plus .5 fil \hspace*{1 cm} \mkern-3mu }",
    ),
    r"\begin{equation}a&=b\end{equation}": ("a & = b", r"\begin{equation}a&=b\end{equation}"),
    r"\sum_{n=1}^{100 x": (r"\sum _ { n = 1 } ^ { 1 0 0 x", r"\sum_{n=1}^{100 x"),
    r"\left( x": (r"\left( x", r"\left( x"),
    **{rf"\left( {'a ' * n}\color [ rgb ] {{ 1 }} y": (form := rf"\left( {'a ' * n}y", form) for n in range(4)},
    r"\left( { \color x y } z": (r"\left( { x y } z", r"\left( { x y } z"),
    r"\left( \hat x y": (r"\left( \hat { x } y", r"\left( \hat { x } y"),
    r"\left( a -- \frac { b }": (r"\left( a - - \frac { b } { }", r"\left( a - - \frac { b } { }"),
    r"\left( \pmod { a }": (r"\left( \mkern 18mu ( \mathrm { m o d } \, \, a )", r"\left( \mathrm { m o d } { a }"),
}


def test_where_the_tool_reads_otherwise() -> None:
    assert {text: (printed(text), printed(text, released=True)) for text in SPELLINGS} == SPELLINGS


def test_what_is_not_in_the_grammar_is_not_parsed() -> None:
    texts = (r"\left( x", "x }", r"\begin{foo} x \end{foo}", r"a \over b \over c", "{" * 500 + "x" + "}" * 500)
    for text in (*texts, r"\root 3 x", r"\substack a", r"\substack{a & b}", r"\begin{pmatrix*}[r x"):
        assert not normal_form(text).parsed, text
    # A command without its argument has no normal form at all.
    spans = (rf"\begin{{tabular}}{{cc}} \multirow{end}" for end in ("2*", "2*&", r"2*\\", r"2*\hline", "2*}"))
    for text in (r"\frac { a", r"\sqrt { x", r"\hat", r"\frac", *spans):
        with pytest.raises(Unbalanced):
            normal_form(text)
    with pytest.raises(Unbalanced, match="an argument is missing"):
        marked(normal_form(r"\multicolumn{2}{c}", released=True), released=True)


def test_a_control_character_is_a_blank() -> None:
    controls = [*range(32), *range(127, 160), 0xD800, 0xDFFF, 0x2028, 0xFEFF]
    assert {printed(f"x +{chr(code)}y") for code in controls} == {"x + y"}


PIECES = sorted(
    words(
        r"\text{ \kern \hskip \mkern \hspace{ 1 . 5 e m pt } { [ ] \\ & ^ _ ' \left( \right) \left \right \middle "
        r"\begin{array}{ \begin{array}{c} \end{array} \begin{cases} \end{cases} \begin \end \sqrt \frac \over \choose "
        r"\genfrac \overwithdelims \atopwithdelims \tabularnewline *{2} \begin{cases}x\end{cases} \text{$ \eqno "
        r"\color{ \color[ \rm \mathrm{ \operatorname \operatorname* \mathop \hat \big \limits * - + ~ \ x"
    )
)


@given(st.lists(st.sampled_from([*"ab12{}[]^_&$%\\ '~+=()", *PIECES]), max_size=40))
@tries(200)
def test_any_text_has_tokens_and_the_normal_form_is_its_own(pieces: list[str]) -> None:
    r"""But for `\(` and its kin, which leave nothing: `^a\(^a` becomes `^{a}^{a}`, of which the second has no base."""
    text = "".join(pieces)
    assume(not re.search(r"\\[()\[\]]", text))
    try:
        form = normal_form(text)
    except Unbalanced:
        return
    assert len(form.tokens) < 100 * (len(pieces) + 1)
    if form.parsed and "tabular" not in text:
        again = normal_form(" ".join(form.tokens))
        assert [token.strip() for token in again.tokens] == [token.strip() for token in form.tokens] or not again.parsed


UNCLOSED = {
    r"\sum_{n=1}^{100 x": r"\sum_{n=1}^{100 x}",
    r"\left( x^{\left[ 2 \right] \right) y": r"\left( x^{\left[ 2 \right]} \right) y",
    r"\left( x^{\leftharpoonup \right) y": r"\left( x^{\leftharpoonup} \right) y",
    r"\left( x^{\rightharpoonup 2 \right) y": r"\left( x^{\rightharpoonup 2} \right) y",
    r"x_{a_{b": "x_{a_{b}}",
}


def test_a_script_that_is_not_closed_ends_where_tex_closes_it() -> None:
    assert as_marked([*UNCLOSED]) == as_marked([*UNCLOSED.values()])


# Marks are written as <{n} and >, and !{n} before a token that swallows what follows; <{} is before ink of no token.
MARKED = {
    r"\sqrt[n+1]{ab}^2": (
        r"<{0} \sqrt [{ { <{1} n > } { <{2} + > } { <{3} 1 > } }] { <{4} a > <{5} b > } ^ { <{} <{6} 2 > > } >",
    ),
    r"\frac{a}{b}_\hat{c}^d": (
        r"<{0} \frac { <{1} a > } { <{2} b > } _ { <{} <{3} \hat { <{4} c > } > > } ^ { <{} <{5} d > > } >",
    ),
    r"\underbrace{a}_b \overline{c}_d": (
        r"<{0} \underbrace { <{1} a > } _ { <{} <{2} b > > } > <{3} { \overline { <{4} c > } } _ { <{} <{5} d > > } >",
    ),
    r"\overset{a}{b} \phantom{c} \phantom d": (r"\overset { <{0} a > } { <{1} b > } \phantom { c } \phantom { d }",),
    r"\multicolumn{2}{p{1 \hsize}}{a}": (
        r"\multicolumn {2}{p{1\hsize }} { <{0} a > }",
        r"\multicolumn { 2 } { p { 1 \hsize } } { <{0} a > }",
    ),
    r"\mathrm{a}_c": (r"\mathrm { <{0} a > } _ { <{} <{1} c > > }", r"\mathrm { <{0} a > } _ { <{1} c > }"),
    # Where the text does not parse, the tool has no token for a script without braces.
    r"\left( x_a^{b}_c": (
        r"<{0} \left( > <{1} x _ { <{} { <{2} a > } > } ^ { <{} <{3} b > > } _ { <{} { <{4} c > } > } >",
        r"<{0} \left( > <{1} x_a^{b}_c >",
    ),
    r"\left( \hat a_1 x_{b \right] c": (
        r"<{0} \left( > <{1} { \hat { <{2} a > } } _ { <{} { <{3} 1 > } > } > "
        r"<{4} x _ { <{} <{5} b > > } > <{6} \right] > <{7} c >",
        r"<{0} \left( > <{1} \hat { <{2} a_1 > } > !{3}{x_{b} <{4} \right] > <{5} c >",
    ),
    r"\begin{array}{c} a_{b & c \end{array}": (
        r"\begin{array} {c} <{0} a > _ { <{1} b > & <{2} c > \end{array}",
        r"\begin{array}{c} !{0}{a_{b} & <{1} c > \end{array}",
    ),
    r"\left( a _ \begin{array}{c}b\end{array}": (
        r"<{0} \left( > <{1} a > _ \begin{array} {c} <{2} b > \end{array}",
        r"<{0} \left( > <{1} a > _ \begin{array}{c}b\end{array}",
    ),
    r"\left( x^b": (r"<{0} \left( > <{1} x ^ { <{} <{2} b > > } >", r"<{0} \left( > <{1} x^b >"),
    r"\left( x_ & y": (r"<{0} \left( > <{1} x _ > & <{2} y >", r"<{0} \left( > <{1} x_ > & <{2} y >"),
    r"\left( _ x": (r"<{0} \left( _ { <{} { <{1} x > } > } >",),
    r"\left{ a": (r"<{0} \left{ > <{1} a >", r"!{0}{\left{} <{1} a >"),
}


def test_each_token_is_marked_with_its_scripts_beside_it() -> None:
    def readable(text: str, released: bool = False) -> str:
        return marked(normal_form(text, released), released).source.translate({1: "<", 2: ">", 3: "!"})

    assert {text: (readable(text), readable(text, released=True)) for text in MARKED} == {
        text: (both[0], both[-1]) for text, both in MARKED.items()
    }
    labels = marked(normal_form(r"\left( a \over \hat{速}")).labels, marked(normal_form(r"\left( \over"), True).labels
    assert labels == (("\\left(", "a", "\\frac", "\\hat", "速"), ("\\left(", "\\over"))


SANITIZED = {
    r"\frac\alpha\input\\\newline": "\\frac\\alpha\\unknowncommand \\\\\\newline",
    r"\begin{array}\begin{filecontents}": "\\begin{array}\\unknowncommand ",
    "x\\": "x\\unknowncommand ",
    "\\\u00e9": "\\unknowncommand ",
    r"\begin{tabular}{p{.3\textwidth}@{\extracolsep\fill}}\multirow{2}{\dimexpr\hsize-\linewidth}": (
        r"\begin{tabular}{p{.3\formulawidth}@{\extracolsep\fill}}\multirow{2}{\dimexpr\formulawidth-\formulawidth}"
    ),
    r"\formulawidth": "\\unknowncommand ",
}


def test_tex_is_given_no_command_outside_of_the_vocabulary() -> None:
    assert {source: sanitize(source) for source in SANITIZED} == SANITIZED


@pytest.mark.parametrize("outer", ["{{{}}}", r"\hat{{{}}}", r"\left({}\right)", r"\begin{{array}}{{c}}{}\end{{array}}"])
def test_what_is_read_does_not_depend_on_the_stack_of_the_caller(outer: str) -> None:
    def called(depth: int) -> Any:
        return called(depth - 1) if depth else (normal_form(text, released=True), normal_form(text))

    for levels in (MAX_DEPTH - 2, MAX_DEPTH + 20, 2_000):
        text = "x"
        for _ in range(levels):
            text = outer.format(text)
        assert called(0) == called(300)
        # What stands before it is not around it.
        assert normal_form(outer.format("x") * 40 + text).parsed == normal_form(text).parsed
