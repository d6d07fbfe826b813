"""What the commands of LaTeX mathematics are: which take arguments, which leave ink of their own, which are known.

Every command outside of COMMANDS is typeset as an unknown command. COMMANDS are the symbols of LaTeX, amsmath,
amssymb and upgreek, and the commands of mathematics, of text in mathematics and of tables. None of them reads or writes
a file, defines anything beyond its group, or calls another command by name.
"""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(text.split())


FRACTIONS = {
    **dict.fromkeys((r"\frac", r"\dfrac", r"\tfrac", r"\cfrac"), r"\frac"),
    **dict.fromkeys((r"\binom", r"\dbinom", r"\tbinom"), r"\binom"),
}
INFIXES = {
    **dict.fromkeys((r"\over", r"\above"), (".", ".", True)),
    r"\atop": (".", ".", False),
    r"\choose": ("(", ")", False),
    r"\brace": (r"\{", r"\}", False),
    r"\brack": ("[", "]", False),
}
"""Infixes of fractions: their delimiters, and whether they have a rule."""
WITH_DELIMITERS = {rf"{name}withdelims": name for name in (r"\over", r"\above", r"\atop")}
STACKS = frozenset({"\\overset", "\\underset", "\\stackrel"})
OPTIONAL_THEN_ONE = frozenset({"\\sqrt", "\\xrightarrow", "\\xleftarrow"})
SPANS = frozenset({"\\multicolumn", "\\multirow"})

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
TEXT_BOXES = TEXTS | words("\\mbox \\hbox \\fbox")
TEXT_SYMBOLS = words(
    "\\textasciicircum \\textasciitilde \\textbackslash \\textbar \\textbullet \\textdegree \\textellipsis "
    "\\textemdash \\textendash \\textgreater \\textlangle \\textless \\textquotedblleft \\textquotedblright "
    "\\textquoteleft \\textquoteright \\textrangle \\textunderscore"
)
"""Symbols of text; in mathematics, TeX prints other glyphs for some of them, or nothing."""
_ALPHABETS = words(
    "\\mathrm \\mathit \\mathbf \\mathbb \\mathcal \\mathfrak \\mathscr \\mathsf \\mathtt \\mathnormal "
    "\\boldsymbol \\pmb"
)
FONTS = (
    {name: name for name in _ALPHABETS}
    | {"\\Bbb": "\\mathbb", "\\bold": "\\mathbf", "\\bm": "\\boldsymbol", "\\frak": "\\mathfrak"}
    | dict.fromkeys(("\\mbox", "\\hbox"), "\\mathrm")
)
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
    **dict.fromkeys(("\\llap", "\\mathllap"), "\\llap"),
    **dict.fromkeys(("\\rlap", "\\mathrlap"), "\\rlap"),
    **dict.fromkeys(("\\boxed", "\\fbox"), "\\boxed"),
}
RENAMED = FRACTIONS | FONTS | LAPS | dict.fromkeys(TEXTS, r"\mathrm")
"""The names with which the parser prints commands that take arguments."""
INVISIBLE = frozenset(FONTS) | TEXTS | CLASSES | ROWS | frozenset(LAPS)
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
_PLAIN_INKLESS = words(
    "\\multirow \\cr \\ensuremath \\left \\right \\qquad \\quad \\limits \\nolimits \\nonumber \\notag \\hfill \\hfil "
    "\\centering \\null \\strut \\mathstrut \\enspace \\thinspace \\medspace \\thickspace \\negthinspace \\negmedspace "
    "\\negthickspace \\relax \\protect \\nobreak \\allowbreak \\space \\atop"
)
INKLESS = (
    SWITCHES
    | _PLAIN_INKLESS
    | {"\\ "}
    | words(
        "\\ \\\\ \\index \\a & $ \\def \\edef \\gdef \\raggedright \\url \\mathchoice \\, \\! \\; \\: \\> ~ \\today "
        "\\the \\noindent"
    )
)

SIZED = frozenset(f"\\{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r", "m", "g"))

DOTS = words("\\ldots \\cdots \\dots \\hdots \\dotsc \\dotsi \\dotsm \\dotso \\dotsb \\mathellipsis \u2026")
SPELLED = words(
    "\\arccos \\arcsin \\arctan \\arg \\bmod \\cos \\cosh \\cot \\coth \\csc \\deg \\dim \\exp \\hom \\ker \\lg \\ln "
    "\\log \\max \\min \\mod \\pmod \\sec \\sin \\sinh \\tan \\tanh"
)
LIMIT_OPERATORS = words("\\det \\gcd \\inf \\injlim \\lim \\liminf \\limsup \\max \\min \\Pr \\projlim \\sup")
RESTORED = (SPELLED | LIMIT_OPERATORS) - words("\\arccos \\bmod \\mod \\pmod \\tanh")
"""Operators that replace an \\operatorname with their name as its argument."""
_MOD = ("\\mathrm", "{", *"mod", "}", "\\,", "\\,")
MODULI = {"\\mod": ("\\mkern 18mu", *_MOD), "\\pmod": ("\\mkern 18mu", "(", *_MOD), "\\pod": ("\\mkern 18mu", "(")}
"""What amsmath prints in a display before the modulus that is the argument of a command."""

MATRICES = words("matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix")
"""Environments whose starred form takes the alignment of its columns in brackets."""
ARRAYS = frozenset({"array", "tabular", "subarray"})
POSITIONED = words("aligned alignedat gathered multlined")
"""Environments that take a position in brackets, as ARRAYS do; in others, brackets behind `\\begin` are ink."""
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
COLORS = words("\\color \\textcolor \\colorbox \\cellcolor \\rowcolor \\mathcolor")
DROPPED = words("\\lefteqn \\raggedright \\arraybackslash \\lowercase \\uppercase \\limits \\nolimits")
SKIPS = words("\\hspace \\vspace")
KERNS = words("\\kern \\mkern \\hskip \\mskip \\vskip")

_READ = frozenset().union(
    *(FRACTIONS, INFIXES, STACKS, OPTIONAL_THEN_ONE, MARKS, TEXTS, TEXT_SYMBOLS, FONTS, CLASSES, ROWS, LAPS, LETTERS),
    *(SWITCHES, _PLAIN_INKLESS, SIZED, DOTS, SPELLED, LIMIT_OPERATORS, SKIPS, KERNS),
)
COMMANDS = frozenset(name[1:] for name in _READ if name[0] == "\\") | words(
    """
    AA AE AmS And Arrowvert Bbbk Box Bumpeq Cap Cup Delta Diamond Doteq Downarrow Finv Game Gamma Im Join L Lambda
    Leftarrow Leftrightarrow Lleftarrow Longleftarrow Longleftrightarrow Longrightarrow Lsh O OE Omega P Phi Pi Psi Re
    Relbar Rightarrow Rrightarrow Rsh S Sigma Subset Supset Theta Uparrow Updelta Updownarrow Upgamma Uplambda Upomega
    Upphi Uppi Uppsi Upsigma Upsilon Uptheta Upupsilon Upxi Vdash Vert Vvdash Xi aa addlinespace ae aleph amalg angle
    approx approxeq arrowvert ast asymp backepsilon backprime backsim backsimeq backslash barwedge because begin beth
    between bfseries bigcap bigcirc bigcup bigodot bigoplus bigotimes bigsqcup bigstar bigtriangledown bigtriangleup
    biguplus bigvee bigwedge blacklozenge blacksquare blacktriangle blacktriangledown blacktriangleleft
    blacktriangleright bot bottomrule bowtie boxdot boxminus boxplus boxtimes braceld bracelu bracerd braceru bracevert
    buildrel bullet bumpeq cap cdot cdotp centerdot char checkmark circ circeq circlearrowleft circlearrowright circledR
    circledS circledast circledcirc circleddash cline clubsuit cmidrule colon complement cong coprod copyright crcr cup
    curlyeqprec curlyeqsucc curlyvee curlywedge curvearrowleft curvearrowright dag dagger daleth dasharrow dashleftarrow
    dashrightarrow dashv ddag ddagger ddots diagdown diagup diamond diamondsuit digamma displaylimits div divideontimes
    doteq doteqdot dotplus doublebarwedge doublecap doublecup downarrow downbracefill downdownarrows downharpoonleft
    downharpoonright ell emptyset end eqcirc eqsim eqslantgtr eqslantless equiv eth exists fallingdotseq flat forall
    frown ge geq geqq geqslant gets gg ggg gggtr gimel gnapprox gneq gneqq gnsim gtrapprox gtrdot gtreqless gtreqqless
    gtrless gtrsim gvertneqq hbar hdotsfor heartsuit hline hookleftarrow hookrightarrow hphantom hslash hss i idotsint
    iff iiiint iiint iint impliedby implies in infty int intercal intop itshape j joinrel l lVert land langle lbrace
    lbrack lceil ldotp le leadsto leftarrow leftarrowfill leftarrowtail leftharpoondown leftharpoonup leftleftarrows
    leftrightarrow leftrightarrows leftrightharpoons leftrightsquigarrow leftthreetimes leq leqq leqslant lessapprox
    lessdot lesseqgtr lesseqqgtr lessgtr lesssim lfloor lgroup lhd lhook ll llcorner lll llless lmoustache lnapprox lneq
    lneqq lnot lnsim longleftarrow longleftrightarrow longmapsto longrightarrow looparrowleft looparrowright lor lower
    lozenge lrcorner ltimes lvert lvertneqq maltese mapsto mapstochar mathdollar mathparagraph mathsection mathsterling
    mathunderscore mdseries measuredangle mho mid middle midrule models mp multicolumn multimap nLeftarrow
    nLeftrightarrow nRightarrow nVDash nVdash nabla natural ncong ne nearrow neg neq newline nexists ngeq ngeqq
    ngeqslant ngtr ni nleftarrow nleftrightarrow nleq nleqq nleqslant nless nmid nobreakdash nobreakspace not notin
    nparallel nprec npreceq nrightarrow nshortmid nshortparallel nsim nsubseteq nsubseteqq nsucc nsucceq nsupseteq
    nsupseteqq ntriangleleft ntrianglelefteq ntriangleright ntrianglerighteq nvDash nvdash nwarrow o odot oe of oint
    ointop ominus oplus oslash otimes owns parallel partial perp phantom pitchfork pm pounds prec precapprox preccurlyeq
    preceq precnapprox precneqq precnsim precsim prime prod propto rVert raise raisebox rangle rbrace rbrack rceil
    relbar restriction rfloor rgroup rhd rhook rightarrow rightarrowfill rightarrowtail rightharpoondown rightharpoonup
    rightleftarrows rightleftharpoons rightrightarrows rightsquigarrow rightthreetimes risingdotseq rmfamily rmoustache
    root rtimes rule rvert scshape searrow setminus sffamily sharp shortmid shortparallel sim simeq skew slash slshape
    smallfrown smallint smallsetminus smallsmile smile spadesuit specialrule sphericalangle sqcap sqcup sqsubset
    sqsubseteq sqsupset sqsupseteq square ss star subset subseteq subseteqq subsetneq subsetneqq succ succapprox
    succcurlyeq succeq succnapprox succneqq succnsim succsim sum supset supseteq supseteqq supsetneq supsetneqq surd
    swarrow tabularnewline therefore thickapprox thicksim times to top toprule triangle triangledown
    triangleleft trianglelefteq triangleq triangleright trianglerighteq ttfamily twoheadleftarrow twoheadrightarrow
    ulcorner unlhd unrhd upalpha uparrow upbeta upbracefill upchi updelta updownarrow upepsilon upeta upgamma
    upharpoonleft upharpoonright upiota upkappa uplambda uplus upmu upnu upomega upphi uppi uppsi uprho upshape upsigma
    uptau uptheta upuparrows upupsilon upvarepsilon upvarphi upvarpi upvarrho upvarsigma upvartheta upxi upzeta urcorner
    vDash varDelta varGamma varLambda varOmega varPhi varPi varPsi varSigma varTheta varUpsilon varXi varbigtriangledown
    varbigtriangleup varinjlim varkappa varliminf varlimsup varnothing varprojlim varpropto varsubsetneq varsubsetneqq
    varsupsetneq varsupsetneqq vartriangle vartriangleleft vartriangleright vdash vdots vee veebar vert vfill vline
    vphantom wedge wp wr yen
    """
)
UNITS = ("em", "ex", "pt", "pc", "in", "bp", "cm", "mm", "dd", "cc", "sp", "mu")
REGISTER = (
    r"(?:(?:text|line|column)width|textheight|hsize|(?:normal)?baselineskip|par(?:indent|skip)|jot|(?:array|tab)colsep"
    r"|(?:array|heavy|light|cmid)rulewidth|doublerulesep|extrarowheight|fbox(?:sep|rule)|tabskip|lineskip(?:limit)?"
    r"|(?:above|below)(?:display(?:short)?skip|rulesep)|(?:small|med|big)skipamount|(?:thin|med|thick)muskip"
    r"|nulldelimiterspace|delimitershortfall|mathsurround|scriptspace|fill|stretch\s*\{[-+.\d\s]{1,40}\})"
)
"""Matches the name of a length that LaTeX keeps, with the argument of \\stretch."""
_NUMBER = r"\s*(?:[+-]\s*)?(?:[.\d]\s*){1,40}"
_SPACED_UNITS = "|".join(map(r"\s*".join, UNITS))
LENGTH = rf"(?:{_NUMBER}(?:(?:true\s*)?(?:{_SPACED_UNITS})|\\{REGISTER})|\s*(?:[+-]\s*)?\\{REGISTER})"
_SPACED_SIDES = "|".join(map(r"\s*".join, ("height", "depth", "width")))
_STRETCH = rf"(?:{LENGTH}|{_NUMBER}f\s*i\s*l(?:\s*l){{0,2}})"
GLUE = rf"{LENGTH}(?:\s*p\s*l\s*u\s*s{_STRETCH})?(?:\s*m\s*i\s*n\s*u\s*s{_STRETCH})?"
"""Matches a length with its stretch and shrink, and with the blanks that TeX and tokenized corpora have in them."""
GROUP = r"\s*\{(?:[^{}]|\{[^{}]{0,200}\}){0,200}\}"
OPTION = r"\s*\[[^\[\]]{0,100}\]"
_SIZE = rf"\s*(?:t\s*o|s\s*p\s*r\s*e\s*a\s*d){LENGTH}"
_LAYOUT = "|".join(
    (
        # Counters and settings, until the end of the group.
        rf"(?:stepcounter|refstepcounter|linespread){GROUP}|(?:addtocounter|setcounter|fontsize){GROUP}{GROUP}",
        rf"(?:setlength|addtolength)(?:\s*\\[A-Za-z]+|{GROUP}){GROUP}",
        # A setting without "=" has no sign: \linewidth-2\tabcolsep is the width of a column.
        rf"(?:advance\s*\\)?{REGISTER}(?:\s*=|\s*b\s*y|(?!\s*[-+])){GLUE}",
        rf"(?:renewcommand\*?|def)\s*(?:\{{\s*)?\\(?:array|baseline)stretch(?:\s*\}})?{GROUP}",
        # Marks, gaps, and rules by their sides, which are lines and struts.
        rf"(?:raisetag|index|label|mspace|addvspace){GROUP}|[hv]glue{GLUE}|penalty\s*-?\d+",
        rf"[hv]rule(?:\s*(?:{_SPACED_SIDES}){LENGTH})+",
        r"(?:displaybreak|allowdisplaybreaks|pagebreak|nopagebreak|linebreak|nolinebreak)(?![A-Za-z])(?:\s*\[\d\])?",
        # Rules and colors of tables. Only \rowcolor has its overhangs behind it.
        rf"hhline{GROUP}|Xhline{GROUP}|Xcline{GROUP}{GROUP}|(?:cdashline{GROUP}|hdashline)(?:{OPTION})?",
        rf"(?:arrayrulecolor|doublerulesepcolor)(?:{OPTION})?{GROUP}|rowcolor(?:{OPTION})?{GROUP}(?:{OPTION}){{0,2}}",
        rf"rowcolors\*?(?:{OPTION})?{GROUP}{GROUP}{GROUP}",
        # Floats and boxes around a formula.
        rf"begin\s*\{{(?:sideways)?(?:table|figure)\*?\}}(?:{OPTION})?",
        rf"begin\s*\{{(?:minipage|adjustbox|sub(?:table|figure))\}}(?:{OPTION}){{0,3}}{GROUP}",
        rf"begin\s*\{{wrap(?:table|figure)\}}(?:{OPTION})?{GROUP}(?:{OPTION})?{GROUP}",
        r"end\s*\{(?:(?:sideways|sub|wrap)?(?:table|figure)\*?|minipage|adjustbox)\}",
        # What is read before the content of a box.
        rf"(?:raise|lower|moveleft|moveright){LENGTH}|resizebox\*?{GROUP}{GROUP}|rotatebox(?:{OPTION})?{GROUP}",
        rf"scalebox{GROUP}(?:{OPTION})?|raisebox{GROUP}(?:{OPTION}){{0,2}}|parbox(?:{OPTION}){{0,3}}{GROUP}",
        rf"v(?:box|top)(?:{_SIZE})?(?=\s*\{{)",
    )
)
_SKIP = (
    rf"(?:kern|[hv]skip){GLUE}|[hv]space\s*(?:\*\s*)?\{{{GLUE}\s*\}}"
    r"|(?:(?:small|med|big)skip|[hv]fill?|hrule|hline|nobreak|(?:no|off)interlineskip|global)(?![A-Za-z])"
)
LAYOUT = (
    rf"(?:\\(?:global\s*\\)?(?:{_LAYOUT}|noalign\s*\{{(?:\s*\\(?:{_LAYOUT}|{_SKIP})){{0,20}}\s*\}})"
    # Behind a rule of booktabs or \addlinespace, and behind a box that counts as a font or a class.
    rf"|(?<=rule|pace)\s*\[(?:{_NUMBER})?\\{REGISTER}\s*\]"
    rf"|(?:(?<=\\hbox)|(?<=\\vcenter)){_SIZE})"
)
"""Matches commands of layout with the arguments that they do not print; those of a box, before its content.

\\noalign prints what is in it, unless all of that is layout or a skip. A setting may be \\global.
"""
ENVIRONMENTS = ARRAYS | MATRICES | words("smallmatrix cases aligned alignedat gathered split")
_IN_COLUMNS = {
    **dict.fromkeys(words("textwidth linewidth columnwidth hsize"), r"\formulawidth"),
    **{name: rf"\{name}" for name in ("dimexpr", "fill", "extracolsep")},
}
"""Commands of the columns of tables, as TeX is given them; the width is a copy, so that no formula sets the page's."""
CONTROL_SYMBOLS = frozenset(" ,;:!>{}|_&#%$-/'`\"^~=.@\\*<\n")

_COMMAND = re.compile(r"\\(?:([a-zA-Z]+)|(.)|$)", re.DOTALL)
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([a-zA-Z]*)[^{}]*\}|\\(?:begin|end)(?![a-zA-Z])")
_UNKNOWN = r"\unknowncommand "
_HEXADECIMAL = re.compile(r"\^(?=\^)")


def sanitize(source: str) -> str:
    """Returns the LaTeX with every command and environment outside of the vocabulary replaced by an unknown command.

    Two ^ are parted: TeX takes ^^5c for a backslash, wherever it stands.
    """

    def command(match: re.Match[str]) -> str:
        word, symbol = match.groups()
        if word is None:
            return match.group() if symbol and symbol in CONTROL_SYMBOLS else _UNKNOWN
        return match.group() if word in COMMANDS else _IN_COLUMNS.get(word, _UNKNOWN)

    def environment(match: re.Match[str]) -> str:
        return match.group() if match[2] in ENVIRONMENTS else _UNKNOWN

    return _HEXADECIMAL.sub("^ ", _ENVIRONMENT.sub(environment, _COMMAND.sub(command, source)))
