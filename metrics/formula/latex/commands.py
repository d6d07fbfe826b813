"""What the commands of LaTeX mathematics are: which take arguments, which leave ink of their own."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(text.split())


FRACTIONS = {
    "\\frac": "\\frac",
    "\\dfrac": "\\frac",
    "\\tfrac": "\\frac",
    "\\cfrac": "\\frac",
    "\\binom": "\\binom",
    "\\dbinom": "\\binom",
    "\\tbinom": "\\binom",
}
INFIXES = {
    "\\over": "\\frac",
    "\\above": "\\frac",
    "\\choose": "\\binom",
    "\\atop": "\\binom",
    "\\brace": "\\binom",
    "\\brack": "\\binom",
}
STACKS = frozenset({"\\overset", "\\underset", "\\stackrel"})
OPTIONAL_THEN_ONE = frozenset({"\\sqrt", "\\xrightarrow", "\\xleftarrow"})

ACCENTS = words(
    "\\acute \\grave \\ddot \\dddot \\ddddot \\tilde \\bar \\breve \\check \\hat \\vec \\dot \\mathring \\widehat "
    "\\widetilde \\Tilde \\Bar \\Vec \\Ddot \\Dot \\Hat \\Check \\Breve \\Acute \\Grave \\overrightarrow "
    "\\overleftarrow \\overleftrightarrow \\underrightarrow \\underleftarrow \\underleftrightarrow"
)
LINES = words("\\overline \\underline \\underbrace \\overbrace \\underbar \\pod")
MARKS = ACCENTS | LINES

TEXTS = words(
    "\\text \\textrm \\textnormal \\textup \\textmd \\textbf \\textit \\textsf \\texttt \\textsc \\textsl \\emph"
)
_ALPHABETS = words(
    "\\mathrm \\mathit \\mathbf \\mathbb \\mathcal \\mathfrak \\mathscr \\mathsf \\mathtt \\mathnormal "
    "\\boldsymbol \\pmb"
)
FONTS = {
    **{name: name for name in _ALPHABETS},
    "\\Bbb": "\\mathbb",
    "\\bold": "\\mathbf",
    "\\bm": "\\boldsymbol",
    "\\frak": "\\mathfrak",
    "\\mbox": "\\mathrm",
    "\\hbox": "\\mathrm",
}
CLASSES = words(
    "\\mathop \\mathbin \\mathrel \\mathord \\mathopen \\mathclose \\mathpunct \\mathinner \\vcenter \\smash "
    "\\operatorname"
)
PHANTOMS = words(
    "\\phantom \\vphantom \\hphantom \\fontfamily \\rowcolor \\ref \\thesubequation \\global \\theboldgroup"
)
ROWS = frozenset({"\\substack"})
"""Commands whose one argument has rows."""
LAPS = {
    "\\llap": "\\llap",
    "\\rlap": "\\rlap",
    "\\mathllap": "\\llap",
    "\\mathrlap": "\\rlap",
    "\\boxed": "\\boxed",
    "\\fbox": "\\boxed",
}
INVISIBLE = frozenset(FONTS.values()) | TEXTS | CLASSES | ROWS | frozenset(LAPS.values())
LETTERS = words(
    "\\alpha \\beta \\gamma \\delta \\epsilon \\zeta \\eta \\theta \\iota \\kappa \\lambda \\mu \\nu \\xi \\omicron "
    "\\pi \\rho \\sigma \\tau \\upsilon \\phi \\chi \\psi \\omega \\varepsilon \\vartheta \\varpi \\varrho \\varsigma "
    "\\varphi \\imath \\jmath"
)

SWITCHES = words(
    "\\bf \\it \\cal \\sf \\tt \\sl \\sc \\mit \\rm \\em \\boldmath \\unboldmath \\tiny \\scriptsize \\footnotesize "
    "\\small \\normalsize \\large \\Large \\LARGE \\huge \\Huge \\displaystyle \\textstyle \\scriptstyle "
    "\\scriptscriptstyle"
)
INKLESS = (
    SWITCHES
    | {"\\ "}
    | words(
        "\\ \\\\ \\index \\a & $ \\multirow \\def \\edef \\gdef \\raggedright \\url \\cr \\ensuremath \\left \\right "
        "\\mathchoice \\qquad \\quad \\, \\! \\; \\: \\> ~ \\today \\the \\limits \\nolimits \\nonumber \\notag "
        "\\hfill \\hfil \\centering \\null \\strut \\mathstrut \\enspace \\thinspace \\medspace \\thickspace "
        "\\negthinspace \\negmedspace \\negthickspace \\noindent \\relax \\protect \\nobreak \\allowbreak \\space"
    )
)

SIZED = frozenset(f"\\{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r", "m", "g"))

DOTS = words("\\ldots \\cdots \\dots \\hdots \\dotsc \\dotsi \\dotsm \\dotso \\dotsb \\mathellipsis \u2026")
SPELLED = words(
    "\\arccos \\arcsin \\arctan \\arg \\bmod \\cos \\cosh \\cot \\coth \\csc \\deg \\dim \\exp \\hom \\ker \\lg \\ln "
    "\\log \\max \\min \\mod \\pmod \\sec \\sin \\sinh \\tan \\tanh"
)
LIMIT_OPERATORS = words("\\det \\gcd \\inf \\injlim \\lim \\liminf \\limsup \\max \\min \\Pr \\projlim \\sup")
RESTORED = words(
    "arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf injlim ker lg lim liminf limsup ln log max "
    "min Pr projlim sec sin sinh sup tan"
)

MATRICES = words("matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix")
"""Environments whose starred form takes the alignment of its columns in brackets."""
ARRAYS = frozenset({"array", "tabular", "subarray"})
DELIMITED = {
    "matrix": ("", ""),
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "Bmatrix": ("\\{", "\\}"),
    "vmatrix": ("|", "|"),
    "Vmatrix": ("\\Vert", "\\Vert"),
    "cases": ("\\{", "."),
    "dcases": ("\\{", "."),
    "rcases": (".", "\\}"),
    "aligned": ("", ""),
    "gathered": ("", ""),
    "picture": ("\\{", "."),
}
COLOURS = {"\\color": 1, "\\textcolor": 1, "\\colorbox": 1, "\\cellcolor": 1, "\\rowcolor": 1, "\\mathcolor": 1}
DROPPED = words("\\lefteqn \\raggedright \\arraybackslash \\lowercase \\uppercase \\limits \\nolimits")
SKIPS = words("\\hspace \\vspace")
KERNS = words("\\kern \\mkern \\hskip \\mskip \\vskip")
