"""Author macros: how a definition is read, and how a call is replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .token_reader import Call, Token, TokenReader, is_command

MAX_PARAMETERS = 9
MAX_PARAMETER_TEXT = 64
"""A `\\def` whose parameter text has more tokens than this is not understood."""

PROTECTED = frozenset({"\\begin", "\\end", "\\csname", "\\endcsname", "\\expandafter", "\\relax", "\\\\"})
"""Commands that stay what they are, whatever a text defines."""


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """What a command stands for.

    body: texts of tokens, and the numbers (from 1) of parameters.
    start: the tokens that a call must have before its first argument.
    delimiters: for each parameter the tokens that end its argument; () for an argument in braces or of one token.
    default: the first argument where a call has none in brackets; None where the first argument is not optional.
    final: whether the body is left as it is, though a macro may have its name.
    starred: what a call with a star stands for; None where the star is no part of a call.
    """

    body: tuple[str | int, ...]
    start: tuple[str, ...] = ()
    delimiters: tuple[tuple[str, ...], ...] = ()
    default: tuple[str, ...] | None = None
    final: bool = False
    starred: Macro | None = None

    def size(self, arguments: Sequence[Sequence[Token]]) -> int:
        """Returns how many tokens a call with these arguments is replaced by."""
        return sum(1 if isinstance(part, str) else len(arguments[part - 1]) for part in self.body)

    def replaced(self, arguments: Sequence[Sequence[Token]], origin: int, call: Call) -> list[Token]:
        """Returns the tokens that a call with these arguments is replaced by."""
        tokens: list[Token] = []
        for part in self.body:
            if isinstance(part, str):
                tokens.append(Token(part, origin, call))
            else:
                tokens.extend(arguments[part - 1])
        return tokens


@dataclass(frozen=True, slots=True)
class Definition:
    """A command and what it stands for from here on."""

    command: str
    macro: Macro
    keeps_existing: bool = False
    everywhere: bool = False


class _NotUnderstood(Exception):
    """The tokens that come next are not what the construct asks for."""


class Surroundings(NamedTuple):
    """The macros in force at a definition, and what expands a body by them."""

    macros: Mapping[str, Macro]
    expand: Callable[[Sequence[Token]], list[Token]]


def read_definition(reader: TokenReader, definer: str, surroundings: Surroundings) -> Definition | None:
    """Reads what follows `definer`, one of DEFINERS; None where it cannot be understood."""
    try:
        return _READERS[definer](reader, surroundings)
    except _NotUnderstood:
        return None


def read_star(reader: TokenReader, macro: Macro) -> Macro:
    """Reads the star of a call, if it has one that counts, and returns the macro to take."""
    return macro.starred if macro.starred is not None and _skip_star(reader) else macro


def read_arguments(reader: TokenReader, macro: Macro, origin: int, call: Call) -> list[list[Token]] | None:
    """Reads the arguments of a call of `macro`; None where they are not what the definition asks for."""
    try:
        return _read_arguments(reader, macro, origin, call)
    except _NotUnderstood:
        return None


def _read_arguments(reader: TokenReader, macro: Macro, origin: int, call: Call) -> list[list[Token]]:
    for expected in macro.start:
        if _character(reader).text != expected:
            raise _NotUnderstood
    arguments: list[list[Token]] = []
    delimiters = macro.delimiters
    if macro.default is not None:
        reader.charge(2 * len(macro.default))
        in_brackets = _read_in_brackets(reader)
        arguments.append([Token(text, origin, call) for text in macro.default] if in_brackets is None else in_brackets)
        delimiters = delimiters[1:]
    rest = (_read_delimited(reader, delimiter) if delimiter else _read_plain(reader) for delimiter in delimiters)
    return [*arguments, *rest]


def _character(reader: TokenReader) -> Token:
    token = reader.read_character()
    if token is None:
        raise _NotUnderstood
    return token


def _visible(reader: TokenReader) -> Token:
    token = reader.read_visible()
    if token is None:
        raise _NotUnderstood
    return token


def _group(reader: TokenReader, opening: Token) -> list[Token]:
    group = reader.read_group(opening)
    if group is None:
        raise _NotUnderstood
    return group


def _read_plain(reader: TokenReader) -> list[Token]:
    """Reads an argument in braces or of one token."""
    first = _visible(reader)
    if first.text == "}":
        raise _NotUnderstood
    return _group(reader, first) if first.text == "{" else [first]


def _read_delimited(reader: TokenReader, delimiter: Sequence[str]) -> list[Token]:
    """Reads up to `delimiter`, outside braces; braces round the whole of the argument go."""
    taken: list[Token] = []
    last_group = (-1, -1)
    while True:
        token = _character(reader)
        if token.text == "}":
            raise _NotUnderstood
        taken.append(token)
        if token.text == "{":
            start = len(taken) - 1
            taken += [*_group(reader, token), Token("}", token.origin, token.call)]
            last_group = (start, len(taken))
        elif token.text == delimiter[-1]:
            reader.charge(len(delimiter))
            end = len(taken) - len(delimiter)
            if end >= max(0, last_group[1]) and [part.text for part in taken[end:]] == list(delimiter):
                return taken[1 : end - 1] if last_group == (0, end) else taken[:end]


def _read_in_brackets(reader: TokenReader) -> list[Token] | None:
    """Reads `[...]`; where it does not come next, None, and nothing but blanks is read."""
    first = reader.read_visible()
    if first is None or first.text != "[":
        reader.unread(first)
        return None
    return _read_delimited(reader, "]")


def _compiled(body: Sequence[Token], parameters: int) -> tuple[str | int, ...]:
    """A body with its `#1` as numbers and its `##` as `#`."""
    parts: list[str | int] = []
    sharp = False
    for token in body:
        text = token.text
        if not sharp:
            if text == "#":
                sharp = True
            else:
                parts.append(text)
            continue
        sharp = False
        if text[0] in "123456789" and int(text[0]) <= parameters:
            parts.append(int(text[0]))
            parts.extend([text[1:]] if text[1:] else [])
        else:
            parts.append("#")
            parts.extend([text] if text != "#" else [])
    return (*parts, "#") if sharp else tuple(parts)


def _read_name(reader: TokenReader) -> str:
    """Reads the command that a definition names, in braces or not."""
    token = _visible(reader)
    in_braces = token.text == "{"
    if in_braces:
        token = _visible(reader)
    if not is_command(token.text) or token.text in PROTECTED:
        raise _NotUnderstood
    if in_braces and _visible(reader).text != "}":
        raise _NotUnderstood
    return token.text


def _skip_star(reader: TokenReader) -> bool:
    token = reader.read_visible()
    if token is not None and token.text == "*":
        return True
    reader.unread(token)
    return False


def _read_new_command(reader: TokenReader, _: Surroundings) -> Definition:
    """`\\newcommand{\\name}[count][default]{body}`, with or without a star."""
    _skip_star(reader)
    name = _read_name(reader)
    count_text = "".join(token.text for token in _read_in_brackets(reader) or ()).strip() or "0"
    if count_text not in set("0123456789"):
        raise _NotUnderstood
    count = int(count_text)
    default = _read_in_brackets(reader) if count else None
    body = _compiled(_read_plain(reader), count)
    default_texts = None if default is None else tuple(token.text for token in default)
    return Definition(name, Macro(body, delimiters=((),) * count, default=default_texts))


def _read_provided(reader: TokenReader, surroundings: Surroundings) -> Definition:
    """`\\providecommand`: a definition for a command that has none."""
    read = _read_new_command(reader, surroundings)
    return Definition(read.command, read.macro, keeps_existing=True)


def _read_operator(reader: TokenReader, _: Surroundings) -> Definition:
    """`\\DeclareMathOperator{\\name}{text}`; the star puts limits below and above."""
    operator = ("\\operatorname", "*") if _skip_star(reader) else ("\\operatorname",)
    name = _read_name(reader)
    return Definition(name, Macro((*operator, "{", *_compiled(_read_plain(reader), 0), "}")), everywhere=True)


def _read_paired(reader: TokenReader, _: Surroundings) -> Definition:
    """`\\DeclarePairedDelimiter{\\name}{left}{right}`: `\\name[size]{x}`, or with a star as large as `x` is."""
    name = _read_name(reader)
    left, right = _delimiter(reader), _delimiter(reader)
    return _paired(name, left, right, 1, (1,))


def _read_paired_with_body(reader: TokenReader, _: Surroundings) -> Definition:
    """`\\DeclarePairedDelimiterX{\\name}[count]{left}{right}{body}`, whose body may size more by `\\delimsize`."""
    name = _read_name(reader)
    count_text = "".join(token.text for token in _read_in_brackets(reader) or ()).strip()
    if count_text not in set("123456789"):
        raise _NotUnderstood
    left, right = _delimiter(reader), _delimiter(reader)
    return _paired(name, left, right, int(count_text), _compiled(_read_plain(reader), int(count_text)))


def _delimiter(reader: TokenReader) -> tuple[str, ...]:
    return tuple(token.text for token in _read_plain(reader))


def _paired(
    name: str, left: tuple[str, ...], right: tuple[str, ...], count: int, body: tuple[str | int, ...]
) -> Definition:
    """A macro of `count` arguments, with a size in brackets before them, or with a star as large as its content."""
    grown = ("\\left", *(left or (".",)), *_sized(body, "\\middle"), "\\right", *(right or (".",)))
    starred = Macro(grown, delimiters=((),) * count)
    after_size = tuple(part + 1 if isinstance(part, int) else part for part in body)
    before: tuple[str | int, ...] = (1, *left) if left else ()
    behind: tuple[str | int, ...] = (1, *right) if right else ()
    sized = (*before, *_sized(after_size, 1), *behind)
    macro = Macro(sized, delimiters=((),) * (count + 1), default=(), starred=starred)
    return Definition(name, macro, everywhere=True)


def _sized(body: tuple[str | int, ...], size: str | int) -> tuple[str | int, ...]:
    return tuple(size if part == "\\delimsize" else part for part in body)


def _read_def(reader: TokenReader, surroundings: Surroundings, expand: bool = False) -> Definition:
    """`\\def\\name parameter-text {body}`; the parameters must be numbered in order."""
    name = _read_name(reader)
    segments: list[list[str]] = [[]]
    for _step in range(MAX_PARAMETER_TEXT):
        token = _character(reader)
        if token.text == "{":
            delimiters = tuple(tuple(segment) for segment in segments[1:])
            body = _group(reader, token)
            compiled = _compiled(surroundings.expand(body) if expand else body, len(delimiters))
            return Definition(name, Macro(compiled, tuple(segments[0]), delimiters))
        if token.text == "}":
            raise _NotUnderstood
        if token.text == "#":
            if _character(reader).text != str(len(segments)) or len(segments) > MAX_PARAMETERS:
                raise _NotUnderstood
            segments.append([])
        elif not token.text.isspace() or segments[-1]:
            segments[-1].append(token.text)
    raise _NotUnderstood


def _read_expanded_def(reader: TokenReader, surroundings: Surroundings) -> Definition:
    """`\\edef`: the macros of the body are expanded now."""
    return _read_def(reader, surroundings, expand=True)


def _read_global_def(reader: TokenReader, surroundings: Surroundings) -> Definition:
    return replace(_read_def(reader, surroundings), everywhere=True)


def _read_global_expanded_def(reader: TokenReader, surroundings: Surroundings) -> Definition:
    return replace(_read_expanded_def(reader, surroundings), everywhere=True)


def _read_let(reader: TokenReader, surroundings: Surroundings) -> Definition:
    """`\\let\\name=target`: what the target stands for now, or the target itself for good."""
    name = _read_name(reader)
    target = _visible(reader).text
    if target == "=":
        target = _visible(reader).text
    if target in ("{", "}", "#"):
        raise _NotUnderstood
    itself = Macro((target,), final=target not in PROTECTED and target not in DEFINERS)
    return Definition(name, surroundings.macros.get(target, itself))


_READERS: Mapping[str, Callable[[TokenReader, Surroundings], Definition]] = {
    "\\newcommand": _read_new_command,
    "\\renewcommand": _read_new_command,
    "\\DeclareRobustCommand": _read_new_command,
    "\\providecommand": _read_provided,
    "\\DeclareMathOperator": _read_operator,
    "\\DeclarePairedDelimiter": _read_paired,
    "\\DeclarePairedDelimiterX": _read_paired_with_body,
    "\\def": _read_def,
    "\\edef": _read_expanded_def,
    "\\gdef": _read_global_def,
    "\\xdef": _read_global_expanded_def,
    "\\let": _read_let,
}

DEFINERS = frozenset(_READERS)
"""The commands that define others."""

PREFIXES = frozenset({"\\global", "\\long", "\\outer", "\\protected"})
"""What may precede a definition."""
