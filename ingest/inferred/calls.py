"""One command's words, divided into options and operands by a rule that says how.

A command is a list of words as the shell hands them over; None stands for a word that cannot be
known, two of them for any number of words (a glob). A rule says which options take a value, what
that value names, and the shape of the operands: what is done to them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Word: TypeAlias = str | None
"""None: not known; twice in a row: any number of words."""
Kind: TypeAlias = Literal["read", "write", "delete", "folder", "code"]
"""What is done to a file; folder: made, or shown to be one; code: a text for a shell to run."""
Access: TypeAlias = tuple[Kind, Word]
IsFolder: TypeAlias = Callable[[str], bool]
"""Whether a name is known to be a folder's."""


@dataclass(frozen=True)
class Rule:
    """How one command's words are to be read."""

    shape: "Shape"
    """What is done to the operands."""
    options: str = ""
    """Options with a value, by name; marked `<` where it names a file that is read, `>` written,
    `!` where it takes the place of the program operand, `?` where it is only ever attached to its
    option, `+` where there are two of them and the second counts."""
    program: Literal["", "text", "file"] = ""
    """What the first operand is, if it is set apart from the others: no file, or a file read."""
    in_order: bool = False
    """Options end at the first operand."""
    whole: bool = False
    """`-abc` is one option, not three."""
    bundled: bool = False
    """The first word may be option letters without a dash, whose values follow in their order."""
    extra: str = ""
    """The output's name where no option gives one, or the suffix of a compressed file."""


@dataclass(frozen=True)
class Call:
    """One command's words, divided; operands are without the program operand."""

    rule: Rule
    is_folder: IsFolder
    options: list[tuple[str, Word]] = field(default_factory=list[tuple[str, Word]])
    operands: list[Word] = field(default_factory=list[Word])
    script: Word = None

    def has(self, names: str) -> bool:
        """Whether any of these options is given."""
        return any(name in names.split() for name, _ in self.options)

    def value(self, names: str) -> Word:
        """Find the last value of these options; None: not given, or not known."""
        return next((value for name, value in self.options[::-1] if name in names.split()), None)


Shape: TypeAlias = Callable[[Call], Iterable[Access]]


def known(call: Call) -> list[tuple[Kind, str]]:
    """Say what a command does to which names, as far as they are known."""
    marks = dict(_marked(call.rule.options))
    found: list[Access] = []
    for name, value in call.options:
        mark = marks.get(name, "")
        if "<" in mark or ">" in mark:
            found.append(("read" if "<" in mark else "write", value))
    if call.rule.program == "file":
        found.append(("read", call.script))
    found += call.rule.shape(call)
    return [(kind, name) for kind, name in found if name and name != "-"]


def _marked(options: str) -> Iterator[tuple[str, str]]:
    for option in options.split():
        name = option.rstrip("<>!?+")
        yield name, option[len(name) :]


def divided(rule: Rule, words: Sequence[Word], is_folder: IsFolder) -> Call:
    """Divide words into options and operands, as getopt does."""
    marks = dict(_marked(rule.options))
    call = Call(rule, is_folder)
    rest = list(words)
    if rule.bundled and rest and rest[0] and rest[0].isalpha():
        letters = sorted(rest[0], key=lambda letter: f"-{letter}" in marks)
        rest[0] = "-" + "".join(letters)
    while rest:
        word = rest.pop(0)
        if word == "--":
            call.operands.extend(rest)
            break
        if word is not None and word.startswith("-") and word != "-":
            for name, value in _named(word, marks, rule.whole):
                mark = marks.get(name)
                takes = 0 if value is not None or mark is None or "?" in mark else 1
                taken = [rest.pop(0) for _ in range(takes + ("+" in (mark or ""))) if rest]
                call.options.append((name, taken[-1] if taken else value))
            continue
        call.operands.append(word)
        if rule.in_order:
            call.operands.extend(rest)
            break
    return _with_program(call, marks)


def _named(word: str, marks: dict[str, str], whole: bool) -> Iterator[tuple[str, Word]]:
    """Split one word into its options, with the values attached to them."""
    name, equals, value = word.partition("=")
    if word in marks or word.startswith("--") or (whole and equals and name in marks):
        yield name, (value if equals else None)
    elif whole:
        yield (word[:2], word[2:]) if word[:2] in marks else (word, None)
    else:
        for at, letter in enumerate(word[1:], 2):
            is_valued = f"-{letter}" in marks
            yield f"-{letter}", (word[at:] or None) if is_valued else None
            if is_valued:
                break


def _with_program(call: Call, marks: dict[str, str]) -> Call:
    is_given = any("!" in marks.get(name, "") for name, _ in call.options)
    if not call.rule.program or is_given or not call.operands:
        return call
    script, *operands = call.operands
    return Call(call.rule, call.is_folder, call.options, operands, script)
