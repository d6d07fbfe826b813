"""What the commands of LaTeX mathematics are: which take arguments, which leave ink of their own."""

from __future__ import annotations

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

ACCENTS = frozenset(
    "\\acute \\grave \\ddot \\dddot \\ddddot \\tilde \\bar \\breve \\check \\hat \\vec \\dot \\mathring \\widehat "
    "\\widetilde \\Tilde \\Bar \\Vec \\Ddot \\Dot \\Hat \\Check \\Breve \\Acute \\Grave \\overrightarrow "
    "\\overleftarrow \\overleftrightarrow \\underrightarrow \\underleftarrow \\underleftrightarrow".split()
)
LINES = frozenset("\\overline \\underline \\underbrace \\overbrace \\underbar".split())
MARKS = ACCENTS | LINES

TEXTS = frozenset(
    "\\text \\textrm \\textnormal \\textup \\textmd \\textbf \\textit \\textsf \\texttt \\textsc \\textsl "
    "\\emph".split()
)
FONTS = {
    **{name: name for name in "\\mathrm \\mathit \\mathbf \\mathbb \\mathcal \\mathfrak \\mathscr".split()},
    **{name: name for name in "\\mathsf \\mathtt \\mathnormal \\boldsymbol \\pmb".split()},
    "\\Bbb": "\\mathbb",
    "\\bold": "\\mathbf",
    "\\bm": "\\boldsymbol",
    "\\frak": "\\mathfrak",
    "\\mbox": "\\mathrm",
    "\\hbox": "\\mathrm",
}
CLASSES = frozenset(
    "\\mathop \\mathbin \\mathrel \\mathord \\mathopen \\mathclose \\mathpunct \\mathinner \\smash \\operatorname".split()
)
PHANTOMS = frozenset(
    "\\phantom \\vphantom \\hphantom \\fontfamily \\rowcolor \\ref \\thesubequation \\global \\theboldgroup".split()
)
LAPS = frozenset("\\llap \\rlap \\mathllap \\mathrlap \\mathclap \\boxed \\fbox".split())
INVISIBLE = frozenset(FONTS.values()) | TEXTS | CLASSES

SWITCHES = frozenset(
    "\\bf \\it \\cal \\sf \\tt \\sl \\sc \\mit \\rm \\em \\boldmath \\unboldmath \\tiny \\scriptsize \\footnotesize "
    "\\small \\normalsize \\large \\Large \\LARGE \\huge \\Huge \\displaystyle \\textstyle \\scriptstyle "
    "\\scriptscriptstyle".split()
)
INKLESS = SWITCHES | frozenset(
    "\\ \\\\ \\index \\a & $ \\multirow \\def \\edef \\gdef \\raggedright \\url \\cr \\ensuremath \\left \\right "
    "\\mathchoice \\qquad \\quad \\, \\! \\; \\: \\> ~ \\today \\the \\limits \\nolimits \\nonumber \\notag "
    "\\hfill \\hfil \\centering \\null \\strut \\mathstrut \\enspace \\thinspace \\medspace \\thickspace "
    "\\negthinspace \\negmedspace \\negthickspace \\noindent \\relax \\protect \\nobreak \\allowbreak \\space".split()
)

SIZED = frozenset(
    f"\\{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r", "m", "g")
)

DOTS = frozenset(
    "\\ldots \\cdots \\dots \\hdots \\dotsc \\dotsi \\dotsm \\dotso \\dotsb \\mathellipsis \u2026".split()
)
SPELLED = frozenset(
    "\\arccos \\arcsin \\arctan \\arg \\bmod \\cos \\cosh \\cot \\coth \\csc \\deg \\dim \\exp \\hom \\ker \\lg \\ln "
    "\\log \\max \\min \\mod \\pmod \\sec \\sin \\sinh \\tan \\tanh".split()
)
LIMIT_OPERATORS = frozenset(
    "\\det \\gcd \\inf \\injlim \\lim \\liminf \\limsup \\max \\min \\Pr \\projlim \\sup".split()
)
RESTORED = frozenset(
    "arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf injlim ker lg lim liminf limsup ln log max "
    "min Pr projlim sec sin sinh sup tan".split()
)

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
DROPPED = frozenset("\\lefteqn \\raggedright \\arraybackslash \\lowercase \\uppercase \\limits \\nolimits".split())
SKIPS = frozenset("\\hspace \\vspace".split())
KERNS = frozenset("\\kern \\mkern \\hskip \\mskip \\vskip".split())
