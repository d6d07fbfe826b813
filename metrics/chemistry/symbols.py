"""What is one and the same in LaTeX text, and what prints nothing: tables for `latex_text`."""

from __future__ import annotations

_UNPRINTED = r"""
    \space \quad \qquad \enspace \thinspace \, \; \: \! \> \smear \left \right \mcfright \mcfleft $
    \rm \bf \it \mathrm \mathbf \mathit \mathsf \mathbb \mathcal \mathop \mathrel \mathbin \mathord
    \text \textbf \textit \textrm \textsf \mbox \operatorname \boldsymbol \underline \nolimits
    \displaystyle \textstyle \scriptstyle \scriptscriptstyle \small \big \Big \bigg \Bigg
"""
UNPRINTED = frozenset((*_UNPRINTED.split(), "\\ "))
"""Blanks and changes of style; their arguments stay."""

SPACING_WITH_LENGTH = frozenset(("\\hspace", "\\vspace"))
COLOUR = "\\color"
COLOURED = "\\textcolor"

SYNONYMS: dict[str, str] = {
    **dict.fromkeys(("\\Delta", "\\vartriangle", "△", "Δ", "∆"), "\\triangle"),
    **dict.fromkeys(("\\to", "\\longrightarrow", "→"), "\\rightarrow"),
    **dict.fromkeys(("\\gets", "\\longleftarrow", "←"), "\\leftarrow"),
    **dict.fromkeys(("\\longleftrightarrow", "↔"), "\\leftrightarrow"),
    **dict.fromkeys(("\\Longrightarrow", "\\implies", "⇒"), "\\Rightarrow"),
    **dict.fromkeys(("\\Longleftrightarrow", "\\iff", "⇔"), "\\Leftrightarrow"),
    **dict.fromkeys(("\\leqslant", "\\leq", "≤"), "\\le"),
    **dict.fromkeys(("\\geqslant", "\\geq", "≥"), "\\ge"),
    **dict.fromkeys(("\\ldots", "\\dots"), ". . ."),
    **dict.fromkeys(("\\mid", "\\vert", "\\lvert", "\\rvert"), "|"),
    **dict.fromkeys(("\\centerdot", "·", "⋅", "•"), "\\cdot"),
    **dict.fromkeys(("–", "—", "−", "―", "─", "\\mcfminus"), "-"),
    **dict.fromkeys(("′", "’", "´", "'"), "^ { \\prime }"),
    **dict.fromkeys(("\\dfrac", "\\tfrac", "\\cfrac"), "\\frac"),
    "\\bar": "\\overline",
    "\\vec": "\\overrightarrow",
    "\\enter": "\\\\",
    "%": "\\%",
    "↑": "\\uparrow",
    "↓": "\\downarrow",
    "⇌": "\\rightleftharpoons",
    "⇋": "\\leftrightharpoons",
    "⇄": "\\rightleftarrows",
    "≡": "\\equiv",
    "×": "\\times",
    "±": "\\pm",
    "°": "^ { \\circ }",
    "℃": "^ { \\circ } C",
    "…": "\\cdots",
    "‖": "| |",
    "\\|": "| |",
    "\\parallel": "| |",
    "\\lt": "<",
    "\\gt": ">",
    "\\lbrack": "[",
    "\\rbrack": "]",
    "\\colon": ":",
    "\\ne": "\\not =",
    "\\neq": "\\not =",
    "\\mcfplus": "+",
    "\\oplus": "\\textcircled { + }",
    "\\ominus": "\\textcircled { - }",
    **{chr(0x2080 + digit): f"_ {{ {digit} }}" for digit in range(10)},
    **{chr(0x2070 + digit): f"^ {{ {digit} }}" for digit in (0, 4, 5, 6, 7, 8, 9)},
    "¹": "^ { 1 }",
    "²": "^ { 2 }",
    "³": "^ { 3 }",
    "⁺": "^ { + }",
    "⁻": "^ { - }",
}
"""What a token stands for, as tokens with blanks between them."""

ARROWS = ("rightarrow", "leftarrow", "leftrightarrow", "Rightarrow", "Leftarrow")
HARPOONS = ("rightleftharpoons", "leftrightharpoons", "rightleftarrows")
STACKED_ARROWS: dict[str, str] = {
    **{f"\\x{name}": f"\\{name}" for name in (*ARROWS, *HARPOONS)},
    "\\xlongrightarrow": "\\rightarrow",
    "\\xlongleftarrow": "\\leftarrow",
    "\\xlongequal": "=",
}
"""Arrows that take the text above as argument and the text below as option, and the plain arrow of each."""
STACKS = frozenset(("\\overset", "\\underset", "\\stackrel"))

ARGUMENTS: dict[str, int] = {
    **dict.fromkeys(("_", "^", "\\overline", "\\overrightarrow", "\\textcircled", "\\sqrt", "\\dot", "\\ddot"), 1),
    **dict.fromkeys(("\\boxed", "\\phantom", "\\lewis", "\\Lewis"), 1),
    **dict.fromkeys(("\\frac", "\\Chemabove"), 2),
}
"""Commands whose arguments keep their braces, with the number of arguments."""

ABOVE = frozenset(("\\chemabove", "\\Chemabove", "\\mcfabove"))
BELOW = frozenset(("\\chembelow", "\\Chembelow", "\\mcfbelow"))
CHARGES = frozenset(("\\charge", "\\Charge"))
