"""Reads LaTeX mathematics in KaTeX's grammar and prints it again in one spelling.

Arguments come out braced, a subscript before its superscript, infix fractions with a rule as prefix ones, text as
letters, and every environment of rows as an array. The parser prints while it reads; there is no tree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import commands

BLANK = " "

_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\s+|.", re.DOTALL)
_VISIBLE_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\S", re.DOTALL)
_BRACED = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_UNESCAPED_PERCENT = re.compile(r"(?<!\\)((?:\\\\)*)%")
_LABEL = re.compile(r"\\label\s*\{[^{}]*\}")
_DROPPED = re.compile(r"\\[~>]|\$")
_DROPPED_OR_COMMAND = re.compile(r"\\[~>]|(\\.)", re.DOTALL)
# Beside text in \noalign, as elsewhere in math, a \vskip would end the formula.
_LAYOUT = re.compile(
    rf"(\\\\)|{commands.LAYOUT}|\\vskip{commands.GLUE}"
    # The number of a formula, which documents do not have either.
    rf"|\\tag\s*(?:\*\s*)?{_BRACED}|\\l?eqno(?![A-Za-z])"
    rf"(?:{_BRACED}|(?!\\(?:end|right|middle|cr|tabularnewline)(?![A-Za-z]))(?:\\[^])\\]|[^\\{{}}$&]))*"
    # The shift of an index or an accent, a color, and the position of a stack.
    rf"|\\(?:leftroot|uproot|skew)(?:{commands.GROUP}|\s*\d)|\\(?:definecolor{commands.GROUP}|colorlet){commands.GROUP}"
    rf"{commands.GROUP}|(?:(?<=\\shortstack)|(?<=\\makecell)|(?<=\\thead)){commands.OPTION}"
)
_BOX_OF_WIDTH = re.compile(
    rf"\\(?:([mf])(?:ake|rame)box(?![A-Za-z])(?:{commands.OPTION}){{0,2}}"
    rf"|(f)colorbox(?:(?:{commands.OPTION})?{commands.GROUP}){{2}})(?=([A-Za-z])?)"
)
_TABLE_OF_WIDTH = re.compile(
    rf"\\(?:(begin)\s*\{{\s*tabular[*xy]\s*\}}{commands.GROUP}((?:{commands.OPTION})?\s*{_BRACED})?"
    r"|(end)\s*\{\s*tabular[*xy]\s*\})"
)
# Columns of tabularx and tabulary, not in what is printed beside one, as in {l>{X}X}.
_COLUMN_OF_TEXT = re.compile(rf"[@!><pmb]\s*{_BRACED}|[XJLCR]")
_ALIGNMENTS = dict(zip("lcrXJLCRpmb", "lcrlllcrlll", strict=True))
"""Columns by the nearest of l, c and r; TeX takes an unknown one for c."""
_ROMAN_GROUP = re.compile(r"\{ ?\\rm(?![a-zA-Z])|\\rm(?=\{)\{")
_COLUMN_PAIRS = re.compile(r"(\\begin\s*\{\s*(?:alignat|alignedat|xalignat)\*?\s*\})\s*\{\s*\d*\s*\}")
_POSITION_OF_ROWS = re.compile(rf"(\\begin\s*\{{\s*(?:{'|'.join(commands.POSITIONED)})\s*\}})\s*\[\s*[tbc]\s*\]")
_RENAMED = {
    **dict.fromkeys(("split", "align", "alignat", "alignedat", "eqnarray", "flalign", "xalignat"), "aligned"),
    **dict.fromkeys(("gather", "multline", "multlined"), "gathered"),
    **dict.fromkeys(("equation", "displaymath", "math"), ""),
    "smallmatrix": "matrix",
}
"""Environments and the names that replace them; those with "" only wrap a formula and are removed."""
_ENVIRONMENT = re.compile(rf"\\(begin|end)\s*\{{\s*({'|'.join(_RENAMED)})\*?\s*\}}")
_ROWS = re.compile(r"\\(?:begin|substack)(?![a-zA-Z])")
_ROWS_IN_WORDS = ("matrix", "cases", "array", "begin", "substack")

MAX_DEPTH = 90
"""Maximum nesting of groups and commands; an environment takes six calls, and the caller has some of the stack too."""
MAX_COLUMNS = 100
LOOK_AHEAD = 80
"""Tokens within which an option, a position or a length ends; half of them if `released`."""

_END_OF_INPUT = ""
_RULES = frozenset({"\\toprule", "\\midrule", "\\bottomrule", "\\addlinespace"})
_FIRST_IN_CELL = _RULES | {"\\specialrule", "\\cmidrule", "\\cline", "\\multicolumn"}
_ENDS_OF_ROW = frozenset({"\\\\", "\\cr", "\\tabularnewline"})
_ENDS = _ENDS_OF_ROW | {_END_OF_INPUT, "}", "\\end", "\\right", "&", "\\middle"}
_NO_ARGUMENT = _ENDS | {"^", "_", "'"}
_NO_DELIMITER = frozenset({_END_OF_INPUT, "{", "}", "&", "\\\\", "^", "_", "$"})
_DELIMITER_OF_FRACTION = re.compile(r"\\?[^\w\s]|\\(?!big|Big)[a-zA-Z]+")
_MATH_IN_TEXT = {"$": "$", "\\(": "\\)"}
_IN_TEXT = frozenset({BLANK})
_OUTSIDE_TEXT = _IN_TEXT | {"$"}

_LENGTH = rf"[+-]?(?:\d+\.?\d*|\.\d+)(?:true)?(?:{'|'.join(commands.UNITS)})"
_BARE_LENGTH = re.compile(_LENGTH)
_NOT_ZERO = re.compile("[1-9]")
_BRACED_LENGTH = re.compile(rf"\*?\{{{_LENGTH}\}}")
_ROW_GAP = re.compile(rf"\*?(?:\[{_LENGTH}\])?")
_AFTER_KERN = {name: re.compile(commands.GLUE if name.endswith("skip") else commands.LENGTH) for name in commands.KERNS}
"""What TeX reads after each of the commands in `commands.KERNS`."""
_BRACED_GLUE = re.compile(rf"\*?\{{{commands.GLUE}\}}")
_GLUE_OPTION = re.compile(rf"\[{commands.GLUE}\]")
_LENGTHS = re.compile(
    rf"(?:(\\\\|\\tabularnewline(?![A-Za-z]) ?)\*?|(\\(?:(?:top|mid|bottom)rule|addlinespace)))"
    rf"(?: ?\[{commands.GLUE} ?\])?"
    rf"|\\[hv]space ?(?:\* ?)?\{{{commands.GLUE} ?\}}|\\m?kern{commands.LENGTH}|\\[hmv]skip{commands.GLUE}"
)
_LINE_BREAK = re.compile(rf"\\\\\*?(?: ?\[{commands.GLUE} ?\])?")
_BLANKS = re.compile(r"\s+")
_POSITION = re.compile(r"\[[tbclr]\]")
_OPTION = re.compile(r"\[[^\]]*\]")
_SPAN = re.compile(r"(?:\\(?:[ch]line|(?:top|c?mid)rule)[^\\]*)*\\multicolumn\{?(\d{1,3})")
_TOOL_COLUMNS = re.compile(rf"\*(\{{\d{{1,6}}\}})\{{([^{{}}]*)\}}|[@!><pmb]{_BRACED}|([lcr])")
_COLUMNS = re.compile(rf"\*(\{{\d{{1,6}}\}}|\d)({_BRACED}|[^{{}}])|[@!><]{_BRACED}|([a-zA-Z])(?:\[[^][]*\]|{_BRACED})*")


def cut_at_comment(text: str) -> str:
    """Returns the text without a leading %, cut at the next % that is not escaped."""
    text = text.removeprefix("%")
    comment = _UNESCAPED_PERCENT.search(text)
    return text[: comment.end(1)] if comment else text


def plain_text(text: str) -> str:
    """Returns the text with every control character, line end and lone surrogate replaced by a blank."""
    return _CONTROL_CHARACTER.sub(BLANK, text)


def without_layout(text: str) -> str:
    """Returns the text without commands of layout and their arguments, which are not typeset.

    tabular* and its kin are tabular, and \\makebox, \\framebox and \\fcolorbox with their sizes are \\mbox and \\fbox.
    """
    text = _LAYOUT.sub(lambda match: match[1] or BLANK, text)
    text = _BOX_OF_WIDTH.sub(lambda box: f"\\{box[1] or box[2]}box{BLANK if box[3] else ''}", text)
    return _TABLE_OF_WIDTH.sub(_table, text)


def _table(match: re.Match[str]) -> str:
    columns = _COLUMN_OF_TEXT.sub(lambda column: _ALIGNMENTS.get(column[0], column[0]), match[2] or "")
    return f"\\{match[1] or match[3]}{{tabular}}{columns}"


def without_lengths(text: str) -> str:
    """Returns the text without the lengths that the parser takes for no ink, for what it does not parse."""
    # Runs of blanks would make the time of the search quadratic.
    return _LENGTHS.sub(lambda match: f"{match[1] or match[2] or ''}{BLANK}", _BLANKS.sub(BLANK, text))


def clean_formula(text: str, released: bool) -> str:
    """Returns the text of a formula, cleaned up for the parser.

    Renames aligned environments to one name, removes comments and, if there are no rows, turns line breaks into thin
    spaces. Dollars stay, for the mathematics within text. The steps are in the order of the released CDM tool, which
    drops dollars, labels and the sign `\\$`, too, prints the distance after a line break, and takes words such as
    "cases" for rows.
    """
    text = plain_text(text)
    text = _COLUMN_PAIRS.sub(r"\1", text if released else _POSITION_OF_ROWS.sub(r"\1", text))
    text = _ENVIRONMENT.sub(lambda mark: f"\\{mark[1]}{{{name}}}" if (name := _RENAMED[mark[2]]) else BLANK, text)
    text = cut_at_comment(text)
    text = _DROPPED.sub(BLANK, text) if released else _DROPPED_OR_COMMAND.sub(lambda mark: mark[1] or BLANK, text)
    if released:
        text = _LABEL.sub("", text)
        text = text if any(word in text for word in _ROWS_IN_WORDS) else text.replace("\\\\", "\\,")
    elif not _ROWS.search(text):
        text = _LINE_BREAK.sub(r"\\,", _BLANKS.sub(BLANK, text))
    return _ROMAN_GROUP.sub(r"\\mathrm{", text)


def split(text: str) -> list[str]:
    """Returns the LaTeX tokens of a text: commands, single characters, and runs of white space as one blank."""
    return [BLANK if token.isspace() else token for token in _TOKEN.findall(text)]


def visible_tokens(text: str) -> list[str]:
    """Returns the LaTeX tokens of a text without white space."""
    return _VISIBLE_TOKEN.findall(text)


def group_end(tokens: Sequence[str], opening: int, pair: tuple[str, str] = ("{", "}")) -> int | None:
    """Returns the index of the token that closes the one at `opening`; None if nothing does.

    If the token at `opening` is neither of the pair, its own index is returned.

    >>> group_end(["{", "a", "{", "}", "}"], 0)
    4
    """
    depth = 0
    for index in range(opening, len(tokens)):
        token = tokens[index]
        depth += (token == pair[0]) - (token == pair[1])
        if not depth:
            return index
    return None


class Unparsable(Exception):
    """The text is not a formula of the grammar; the message says what was expected."""


def normal_tokens(text: str, released: bool) -> list[str]:
    """Returns the tokens of a formula in the one spelling.

    If a nucleus has two scripts of a kind, the second one gets an empty nucleus of its own, as TeX sets it. The
    `released` CDM tool keeps only the last one, spells `\\operatorname{sup}` otherwise than `\\sup`, and prints
    parentheses around a fraction without a rule.

    Raises Unparsable if the text is not in the grammar.
    """
    reader = _Reader(split(text), released)
    tokens = reader.expression()
    reader.expect(_END_OF_INPUT)
    return tokens


class _Reader:
    """Parses the tokens of a formula from left to right.

    `_skipped`: the tokens without meaning; in mathematics blanks and, outside of text, dollars, and in text none.
    `_in_text`: whether TeX reads text; None outside of all text, where dollars do not begin or end mathematics.
    """

    def __init__(self, tokens: list[str], released: bool) -> None:
        self._tokens = [*tokens, _END_OF_INPUT]
        self._at = 0
        self._released = released
        self._infixes = {*commands.INFIXES, *(() if released else commands.WITH_DELIMITERS)}
        self._look_ahead = LOOK_AHEAD // 2 if released else LOOK_AHEAD
        self._depth = 0
        self._skipped = _OUTSIDE_TEXT
        self._roman = False
        self._in_text: bool | None = None

    def _peek(self) -> str:
        """Returns the next token with a meaning; "" at the end."""
        token = self._tokens[self._at]
        while token in self._skipped:
            if token == "$" and self._in_text is not None:  # in \mbox, which is read as mathematics
                self._in_text = not self._in_text
            self._at += 1
            token = self._tokens[self._at]
        return token

    def _take(self) -> str:
        token = self._peek()
        self._at += token != _END_OF_INPUT
        return token

    def expect(self, wanted: str) -> None:
        """Reads the next token; raises Unparsable if it is not `wanted`."""
        if self._take() != wanted:
            raise Unparsable(f"expected {wanted or 'the end'}")

    def _take_match(self, pattern: re.Pattern[str]) -> str:
        """Reads and returns what matches a pattern at the next token, ignoring blanks; "" if nothing does."""
        skipped = {BLANK, *self._skipped}
        ahead = "".join(token for token in self._tokens[self._at : self._at + self._look_ahead] if token not in skipped)
        match = pattern.match(ahead)
        length = match.end() if match else 0
        read = ""
        while len(read) < length:
            read += self._take().strip()
        return read

    def expression(self, closing: str = "") -> list[str]:
        """Reads an expression up to, but not including, `closing` or a token that ends an expression."""
        tokens: list[str] = []
        infix: tuple[str, str, bool] | None = None
        numerator: list[str] = []
        while True:
            token = self._peek()
            if token == closing or token in _ENDS:
                break
            if token in self._infixes:
                if infix is not None:
                    raise Unparsable("only one infix operator a group")
                infix = self._infix()
                numerator, tokens = tokens, []
                continue
            if not self._skipped:
                tokens += self._nucleus()
            else:
                tokens += [] if token in {"^", "_", "'"} else self._nucleus()
                tokens += self._scripts()
        return tokens if infix is None else _fraction(*infix, numerator, tokens)

    def _infix(self) -> tuple[str, str, bool]:
        """Reads the infix of a fraction; returns its delimiters, and whether it has a rule.

        If `released`, one without a rule has parentheses, and the others have no delimiters.
        """
        token = self._take()
        left, right, has_rule = commands.INFIXES[commands.WITH_DELIMITERS.get(token, token)]
        if token in commands.WITH_DELIMITERS:
            left, right = self._delimiter(), self._delimiter()
        if token.startswith("\\above"):
            has_rule = bool(_NOT_ZERO.search(self._take_match(_BARE_LENGTH))) or self._released
        if self._released:
            left, right = (".", ".") if has_rule else ("(", ")")
        return left, right, has_rule

    def _general_fraction(self) -> list[str]:
        """Reads the arguments of \\genfrac: its delimiters, the thickness of its rule, its style and its parts."""
        left, right = (self._argument()[1:-1] or ["."] for _ in range(2))
        if len(left + right) > 2:
            raise Unparsable("expected a delimiter")
        thickness, _ = "".join(self._argument()), self._argument()
        has_rule = thickness == "{}" or bool(_NOT_ZERO.search(thickness))
        tokens = _fraction(left[0], right[0], has_rule, self._argument(), self._argument())
        return _grouped(tokens) if tokens[0] == "{" else tokens

    def _scripts(self) -> list[str]:
        before: list[str] = []
        upper: list[str] | None = None
        lower: list[str] | None = None
        only_primes = False
        while True:
            token = self._peek()
            if token in {"\\limits", "\\nolimits", "\\displaylimits"}:
                self._take()
                continue
            if token not in {"^", "_", "'"}:
                return before + _printed_scripts(lower, upper)
            self._take()
            script = self._primes() if token == "'" else self._argument()
            doubled = (lower if token == "_" else upper) is not None and not self._released
            if doubled and token == "^" and upper and only_primes:
                script = [*upper[:-1], *script[1:]]
            elif doubled:
                before += [*_printed_scripts(lower, upper), "{", "}"]
                upper = lower = None
            if token == "_":
                lower, only_primes = script, False
            else:
                upper, only_primes = script, token == "'"

    def _primes(self) -> list[str]:
        """Returns the prime just read and those that follow it as a superscript."""
        primes = ["\\prime"]
        while self._peek() == "'":
            primes.append("\\prime")
            self._take()
        return ["{", *primes, "}"]

    def _argument(self) -> list[str]:
        """Reads one argument, a group or a single nucleus, and returns it in braces; in text, blanks precede it."""
        self._at += self._tokens[self._at] == BLANK and not self._released
        token = self._peek()
        if token == "}":
            return ["{", self._take(), "}"]
        if token in _NO_ARGUMENT or (token in self._infixes and not self._released):
            raise Unparsable("expected an argument")
        tokens = self._nucleus()
        return tokens if token == "{" else ["{", *tokens, "}"]

    def _raw_group(self) -> list[str]:
        """Reads a group and returns its tokens unchanged, without its braces and blanks."""
        self.expect("{")
        end = group_end(self._tokens, self._at - 1)
        if end is None:
            raise Unparsable("expected }")
        start, self._at = self._at, end + 1
        return [token for token in self._tokens[start:end] if token != BLANK]

    def _up_to(self, delimiter: str) -> list[str]:
        """Reads an expression and its delimiter, such as the index of \\root 3 \\of x; returns the expression."""
        body = self.expression(closing=delimiter)
        self.expect(delimiter)
        return body

    def _delimiter(self) -> str:
        """Reads and returns the delimiter after a command such as \\left, \\right or \\big."""
        token = self._take()
        if token in _NO_DELIMITER:
            raise Unparsable("expected a delimiter")
        return token

    def _nucleus(self) -> list[str]:
        """Reads a group in braces, a character, or a command with its arguments."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unparsable(f"nested more than {MAX_DEPTH} deep")
        token = self._take()
        if token == "{":
            tokens = ["{", *self._up_to("}"), "}"]
        elif token == BLANK:
            tokens = ["~"]
        elif token in _MATH_IN_TEXT and not self._released:
            tokens = [] if self._skipped else self._math_in_text(_MATH_IN_TEXT[token])
        else:
            outer, self._in_text = self._in_text, self._in_text or token in commands.TEXT_BOXES
            tokens = self._command(token) if token.startswith("\\") else [token]
            self._in_text = outer
        self._depth -= 1
        return tokens

    def _command(self, token: str) -> list[str]:
        if token in commands.FRACTIONS or token in commands.STACKS:
            if token == "\\cfrac":
                self._take_match(_POSITION)
            return [commands.FRACTIONS.get(token, token), *self._argument(), *self._argument()]
        if token in commands.OPTIONAL_THEN_ONE:
            option = ["[", *self._up_to("]"), "]"] if self._peek() == "[" and self._take() else []
            return [token, *option, *self._argument()]
        if token in commands.LAPS or token in commands.MARKS or token in commands.PHANTOMS:
            return [commands.LAPS.get(token, token), *self._argument()]
        if token in commands.TEXTS:
            return ["\\mathrm", *self._text()]
        if token in commands.FONTS:
            return self._font(token)
        if token in commands.CLASSES:
            return self._class(token)
        if token in commands.ROWS:
            return [token, *self._stacked_rows()]
        return self._special(token)

    def _special(self, token: str) -> list[str]:
        if token == "\\left":
            return self._left_right()
        if token == "\\begin":
            return self._environment()
        if token == "\\root":
            index = self._up_to("\\of")
            return ["\\sqrt", "[", *index, "]", *self._argument()]
        if token == "\\genfrac" and not self._released:
            return self._general_fraction()
        if token == "\\buildrel":
            upper = self._up_to("\\over")
            return ["\\stackrel", "{", *upper, "}", *self._argument()]
        if token in commands.SIZED:
            return [token + self._delimiter()]
        if token == "\\rm":
            outer, self._roman = self._roman, True
            body = self.expression()
            self._roman = outer
            return ["\\mathrm", "{", *body, "}"]
        spelled = token in commands.LETTERS or (self._released and token[1:] not in commands.COMMANDS)
        if self._roman and spelled and token[1:].isalpha():
            return ["\\ ", *token[1:]]
        if token in commands.LIMIT_OPERATORS and self._released:
            return ["\\operatorname", "{", *token[1:], "}"]
        if token in commands.COLORS:
            self._take_match(_OPTION)
            self._raw_group()
            return []
        if token in commands.SKIPS:
            length = self._take_match(_BRACED_LENGTH if self._released else _BRACED_GLUE)
            return [] if "\\" in length else [token + length]  # the registers of this page have other values
        if token in commands.KERNS:
            length = self._take_match(_BARE_LENGTH if self._released else _AFTER_KERN[token])
            return [] if "\\" in length else [f"{token} {length}" if length else token]
        if token in _RULES and not self._released:
            self._take_match(_OPTION)
        if token == "\\hdotsfor" and not self._released:
            self._take_match(_OPTION)
            return ["\\multicolumn", *self._argument(), "{", "c", "}", "{", "\\dots", "}"]
        if self._in_text and token in commands.TEXT_SYMBOLS and not self._released:
            return [f"\\text{{{token}}}"]
        return [] if token in {"\\[", "\\]", "\\(", "\\)"} else [token]

    def _class(self, token: str) -> list[str]:
        """Reads the argument of a command such as \\mathop, which sets its class; \\operatorname* loses its star."""
        if token == "\\smash":
            self._take_match(_POSITION)
        if token == "\\operatorname" and self._peek() == "*":
            self._take()
            return [token, *self._argument()]
        argument = self._argument()
        name = "\\" + "".join(argument[1:-1])
        return [name] if token == "\\operatorname" and name in commands.RESTORED else [token, *argument]

    def _font(self, token: str) -> list[str]:
        """Reads the argument of a font command.

        \\mathrm spells out Greek letters. So do \\mbox and \\hbox if `released`, and all three then spell out unknown
        commands, too.
        """
        font = commands.FONTS[token]
        outer, self._roman = self._roman, (font if self._released else token) == "\\mathrm"
        argument = self._argument()
        self._roman = outer
        return [font, *argument]

    def _text(self) -> list[str]:
        """Reads the argument of a text command, in which blanks are significant."""
        self._peek()
        outer, roman = self._skipped, self._roman
        self._skipped, self._roman = frozenset(), roman and self._released
        argument = self._argument()
        self._skipped, self._roman = outer, roman
        return argument

    def _math_in_text(self, closing: str) -> list[str]:
        """Reads the mathematics in text up to `closing`, or to the end of the text."""
        self._skipped, self._in_text = _IN_TEXT, False
        tokens = self.expression(closing)
        self._skipped, self._in_text = frozenset(), True
        if self._peek() == closing:
            self._take()
        return tokens

    def _stacked_rows(self) -> list[str]:
        """Reads the argument of \\substack, rows separated by line breaks, and returns it in braces."""
        self.expect("{")
        tokens = ["{", *self.expression()]
        while self._peek() in _ENDS_OF_ROW:
            self._end_of_row()
            tokens += ["\\\\", *self.expression()]
        self.expect("}")
        return [*tokens, "}"]

    def _left_right(self) -> list[str]:
        tokens = ["\\left" + self._delimiter(), *self.expression()]
        while self._peek() == "\\middle":
            self._take()
            tokens += ["\\middle" + self._delimiter(), *self.expression()]
        self.expect("\\right")
        return [*tokens, "\\right" + self._delimiter()]

    def _environment(self) -> list[str]:
        given = "".join(self._raw_group())
        name = given.removesuffix("*")
        if name not in commands.ARRAYS and name not in commands.DELIMITED:
            raise Unparsable(f"no environment {name[:40]}")
        alignment = self._take_match(_OPTION)[1:-1] if name in commands.MATRICES and given != name else ""
        if name in commands.ARRAYS or self._released:
            self._take_match(_POSITION)
        columns = alignment if alignment in {"l", "c", "r"} else ""
        if name in commands.ARRAYS:
            columns = _alignments("".join(self._raw_group()), _TOOL_COLUMNS if self._released else _COLUMNS)
        rows = self._rows()
        self.expect("\\end")
        if "".join(self._raw_group()).removesuffix("*") != name:
            raise Unparsable(f"expected \\end{{{name}}}")
        return _array(name, columns, rows, self._released)

    def _rows(self) -> list[list[list[str]]]:
        rows: list[list[list[str]]] = [[]]
        while True:
            rows[-1].append(self.expression())
            token = self._peek()
            if token == "\\end":
                return rows
            if token != "&" and token not in _ENDS_OF_ROW:
                raise Unparsable("expected & or \\\\ or \\end")
            if token == "&":
                self._take()
            else:
                self._end_of_row()
                rows.append([])

    def _end_of_row(self) -> None:
        """Reads the end of a row, its star and its distance; those behind \\cr are ink, as is the star in `\\\\ *`."""
        token = self._take()
        if self._released:
            self._take_match(_ROW_GAP)
        elif token != "\\cr":
            behind = self._tokens[self._at] if token == "\\\\" else self._peek()
            self._at += behind == "*"
            self._take_match(_GLUE_OPTION)


def _printed_scripts(lower: list[str] | None, upper: list[str] | None) -> list[str]:
    return [*(["_", *lower] if lower else []), *(["^", *upper] if upper else [])]


def _grouped(tokens: list[str]) -> list[str]:
    """Returns the tokens in braces; tokens that are already one group are returned unchanged."""
    if len(tokens) > 1 and tokens[0] == "{" and group_end(tokens, 0) == len(tokens) - 1:
        return tokens
    return ["{", *tokens, "}"]


def _fraction(left: str, right: str, has_rule: bool, numerator: list[str], denominator: list[str]) -> list[str]:
    """Returns a fraction between delimiters, which are \\left and \\right unless it is one of \\binom."""
    if not all(map(_DELIMITER_OF_FRACTION.fullmatch, (left, right))):
        raise Unparsable("expected a delimiter")
    upper, lower = _grouped(numerator), _grouped(denominator)
    if (left, right, has_rule) == ("(", ")", False):
        return ["\\binom", *upper, *lower]
    tokens = ["\\frac", *upper, *lower] if has_rule else [*upper, "\\atop", *lower]
    return tokens if left == right == "." else ["\\left" + left, *tokens, "\\right" + right]


def _alignments(specification: str, pattern: re.Pattern[str]) -> str:
    """Returns the alignments (l, c, r) of an array's columns, with *{n}{..} expanded; at most MAX_COLUMNS."""
    letters = ""
    for times, repeated, one in pattern.findall(specification):
        each = _ALIGNMENTS.get(one, "c") if one else _alignments(repeated, pattern)
        letters = (letters + each * min(int(times.strip("{}") or 1), MAX_COLUMNS))[:MAX_COLUMNS]
    return letters


def _width(row: list[list[str]], released: bool) -> int:
    """Returns the number of columns that a row covers; if `released`, without those that a cell spans."""
    spans = (_SPAN.match("".join(cell)) for cell in row)
    return len(row) if released else max(len(row), min(sum(int(span[1]) if span else 1 for span in spans), MAX_COLUMNS))


def _array(name: str, columns: str, rows: list[list[list[str]]], released: bool) -> list[str]:
    """Returns the rows as an array between the delimiters of their environment, without the empty rows.

    Cells get braces. Unless `released`, a group is given none, nor is what TeX reads only at the start of a cell.
    """
    unbraced = frozenset() if released else _FIRST_IN_CELL
    width = max(_width(row, released) for row in rows)
    if name == "aligned":
        columns = ("rl" * width)[:width]
        rows = [
            [["{", "}"] * (at % 2 and unbraced.isdisjoint(cell[:1])) + cell for at, cell in enumerate(row)]
            for row in rows
        ]
    elif name in {"cases", "dcases", "rcases", "picture"}:
        columns = "ll"
    elif not columns or name not in commands.ARRAYS:
        columns = (columns or ("c" if name == "gathered" else "l")) * width
    tokens = ["\\begin{array}", f"{{{columns}}}"]
    for number, row in enumerate(row for row in rows if any(row)):
        tokens += ["\\\\"] if number else []
        for index, cell in enumerate(row):
            tokens += ["&"] if index else []
            while not index and cell[:1] == ["\\hline"]:
                tokens += cell[:1]
                cell = cell[1:]
            if cell and cell[0] not in unbraced:
                cell = ["{", *cell, "}"] if released else _grouped(cell)
            tokens += cell
    tokens.append("\\end{array}")
    left, right = commands.DELIMITED.get(name, ("", ""))
    return ["\\left" + left, *tokens, "\\right" + right] if left else tokens
