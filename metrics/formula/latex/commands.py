"""What the commands of LaTeX mathematics are: which take arguments, which leave ink of their own, which are known.

Every command outside of COMMANDS is typeset as one that TeX does not know. Those are the symbols of LaTeX, amsmath,
amssymb and upgreek, and the commands of mathematics, of text in mathematics and of tables. None of them reads or writes
a file, defines anything beyond its group, or calls another command by name.
"""

from __future__ import annotations

import re


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

COMMANDS = words(
    """
    AA AE Acute AmS And Arrowvert Bar Bbb Bbbk Big Bigg Biggl Biggm Biggr Bigl Bigm Bigr Box Breve Bumpeq Cap Check Cup
    Ddot Delta Diamond Dot Doteq Downarrow Finv Game Gamma Grave Hat Huge Im Join L LARGE Lambda Large Leftarrow
    Leftrightarrow Lleftarrow Longleftarrow Longleftrightarrow Longrightarrow Lsh O OE Omega P Phi Pi Pr Psi Re Relbar
    Rightarrow Rrightarrow Rsh S Sigma Subset Supset Theta Tilde Uparrow Updelta Updownarrow Upgamma Uplambda Upomega
    Upphi Uppi Uppsi Upsigma Upsilon Uptheta Upupsilon Upxi Vdash Vec Vert Vvdash Xi aa above acute addlinespace ae
    aleph allowbreak alpha amalg angle approx approxeq arccos arcsin arctan arg arrowvert ast asymp atop backepsilon
    backprime backsim backsimeq backslash bar barwedge because begin beta beth between bf bfseries big bigcap bigcirc
    bigcup bigg biggl biggm biggr bigl bigm bigodot bigoplus bigotimes bigr bigsqcup bigstar bigtriangledown
    bigtriangleup biguplus bigvee bigwedge binom blacklozenge blacksquare blacktriangle blacktriangledown
    blacktriangleleft blacktriangleright bmod bold boldmath boldsymbol bot bottomrule bowtie boxdot boxed boxminus
    boxplus boxtimes brace braceld bracelu bracerd braceru bracevert brack breve buildrel bullet bumpeq cal cap cdot
    cdotp cdots centerdot centering cfrac char check checkmark chi choose circ circeq circlearrowleft circlearrowright
    circledR circledS circledast circledcirc circleddash cline clubsuit cmidrule colon complement cong coprod copyright
    cos cosh cot coth cr crcr csc cup curlyeqprec curlyeqsucc curlyvee curlywedge curvearrowleft curvearrowright dag
    dagger daleth dasharrow dashleftarrow dashrightarrow dashv dbinom ddag ddagger ddddot dddot ddot ddots deg delta det
    dfrac diagdown diagup diamond diamondsuit digamma dim displaylimits displaystyle div divideontimes dot doteq
    doteqdot dotplus dots dotsb dotsc dotsi dotsm dotso doublebarwedge doublecap doublecup downarrow downbracefill
    downdownarrows downharpoonleft downharpoonright ell em emph emptyset end enspace ensuremath epsilon eqcirc eqsim
    eqslantgtr eqslantless equiv eta eth exists exp fallingdotseq fbox flat footnotesize forall frac frak frown gamma
    gcd ge geq geqq geqslant gets gg ggg gggtr gimel gnapprox gneq gneqq gnsim grave gtrapprox gtrdot gtreqless
    gtreqqless gtrless gtrsim gvertneqq hat hbar hbox hdotsfor heartsuit hfil hfill hline hom hookleftarrow
    hookrightarrow hphantom hskip hslash hspace hss huge i idotsint iff iiiint iiint iint imath impliedby implies in inf
    infty injlim int intercal intop iota it itshape j jmath joinrel kappa ker kern l lVert lambda land langle large
    lbrace lceil ldotp ldots le leadsto left leftarrow leftarrowfill leftarrowtail leftharpoondown leftharpoonup
    leftleftarrows leftrightarrow leftrightarrows leftrightharpoons leftrightsquigarrow leftthreetimes leq leqq leqslant
    lessapprox lessdot lesseqgtr lesseqqgtr lessgtr lesssim lfloor lg lgroup lhd lhook lim liminf limits limsup ll llap
    llcorner lll llless lmoustache ln lnapprox lneq lneqq lnot lnsim log longleftarrow longleftrightarrow longmapsto
    longrightarrow looparrowleft looparrowright lor lower lozenge lrcorner ltimes lvert lvertneqq maltese mapsto
    mapstochar mathbb mathbf mathbin mathcal mathclose mathdollar mathellipsis mathfrak mathinner mathit mathnormal
    mathop mathopen mathord mathparagraph mathpunct mathrel mathring mathrm mathsection mathsf mathsterling mathstrut
    mathtt mathunderscore max mbox mdseries measuredangle medspace mho mid middle midrule min mit mkern mod models mp
    mskip mu multicolumn multimap multirow nLeftarrow nLeftrightarrow nRightarrow nVDash nVdash nabla natural ncong ne
    nearrow neg negmedspace negthickspace negthinspace neq newline nexists ngeq ngeqq ngeqslant ngtr ni nleftarrow
    nleftrightarrow nleq nleqq nleqslant nless nmid nobreak nobreakdash nobreakspace nolimits nonumber normalsize not
    notag notin nparallel nprec npreceq nrightarrow nshortmid nshortparallel nsim nsubseteq nsubseteqq nsucc nsucceq
    nsupseteq nsupseteqq ntriangleleft ntrianglelefteq ntriangleright ntrianglerighteq nu null nvDash nvdash nwarrow o
    odot oe of oint ointop omega ominus operatorname oplus oslash otimes over overbrace overleftarrow overleftrightarrow
    overline overrightarrow overset owns parallel partial perp phantom phi pi pitchfork pm pmb pmod pod pounds prec
    precapprox preccurlyeq preceq precnapprox precneqq precnsim precsim prime prod projlim propto protect psi qquad quad
    rVert raise raisebox rangle rbrace rceil relax relbar restriction rfloor rgroup rhd rho rhook right rightarrow
    rightarrowfill rightarrowtail rightharpoondown rightharpoonup rightleftarrows rightleftharpoons rightrightarrows
    rightsquigarrow rightthreetimes risingdotseq rlap rm rmfamily rmoustache root rtimes rule rvert sc scriptscriptstyle
    scriptsize scriptstyle scshape searrow sec setminus sf sffamily sharp shortmid shortparallel sigma sim simeq sin
    sinh skew sl slshape small smallfrown smallint smallsetminus smallsmile smash smile space spadesuit specialrule
    sphericalangle sqcap sqcup sqrt sqsubset sqsubseteq sqsupset sqsupseteq square ss stackrel star strut subset
    subseteq subseteqq subsetneq subsetneqq substack succ succapprox succcurlyeq succeq succnapprox succneqq succnsim
    succsim sum sup supset supseteq supseteqq supsetneq supsetneqq surd swarrow tabularnewline tan tanh tau tbinom text
    textasciicircum textasciitilde textbackslash textbar textbf textbullet textdegree textellipsis textemdash textendash
    textgreater textit textlangle textless textmd textnormal textquotedblleft textquotedblright textquoteleft
    textquoteright textrangle textrm textsc textsf textsl textstyle texttt textunderscore textup tfrac therefore theta
    thickapprox thicksim thickspace thinspace tilde times tiny to top toprule triangle triangledown triangleleft
    trianglelefteq triangleq triangleright trianglerighteq tt ttfamily twoheadleftarrow twoheadrightarrow ulcorner
    unboldmath underbar underbrace underleftarrow underleftrightarrow underline underrightarrow underset unlhd unrhd
    upalpha uparrow upbeta upbracefill upchi updelta updownarrow upepsilon upeta upgamma upharpoonleft upharpoonright
    upiota upkappa uplambda uplus upmu upnu upomega upphi uppi uppsi uprho upshape upsigma upsilon uptau uptheta
    upuparrows upupsilon upvarepsilon upvarphi upvarpi upvarrho upvarsigma upvartheta upxi upzeta urcorner vDash
    varbigtriangledown varbigtriangleup varepsilon varinjlim varkappa varliminf varlimsup varnothing varphi varpi
    varprojlim varpropto varrho varsigma varsubsetneq varsubsetneqq varsupsetneq varsupsetneqq vartheta vartriangle
    vartriangleleft vartriangleright vcenter vdash vdots vec vee veebar vert vfill vline vphantom vskip vspace wedge
    widehat widetilde wp wr xi xleftarrow xrightarrow yen zeta
    """
)
ENVIRONMENTS = words(
    "array tabular matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix cases aligned alignedat gathered split "
    "subarray"
)
CONTROL_SYMBOLS = frozenset(" ,;:!>{}|_&#%$-/'`\"^~=.@\\*<\n")

_COMMAND = re.compile(r"\\(?:([a-zA-Z]+)|(.)|$)", re.DOTALL)
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([a-zA-Z]*)[^{}]*\}|\\(?:begin|end)(?![a-zA-Z])")
_UNKNOWN = r"\unknowncommand "
_MANY_COLUMNS = re.compile(r"""\*\s*\{(?:\s*\d{3,}\s*\}|[-+\s]*(?:\d{3,}|["'`\\])[^{}]*\}(?=\s*\{))""")


def sanitize(source: str) -> str:
    """Returns the LaTeX with every command and environment outside of the vocabulary made an unknown one.

    A column that is repeated more than 99 times, or as often as other than decimal digits say, is repeated 99 times.
    """

    def command(match: re.Match[str]) -> str:
        word, symbol = match.groups()
        if word is None:
            return match.group() if symbol and symbol in CONTROL_SYMBOLS else _UNKNOWN
        return match.group() if word in COMMANDS else _UNKNOWN

    def environment(match: re.Match[str]) -> str:
        return match.group() if match[2] in ENVIRONMENTS else _UNKNOWN

    return _MANY_COLUMNS.sub("*{99}", _ENVIRONMENT.sub(environment, _COMMAND.sub(command, source)))
