"""A text is walked in the order in which a shell would run it, as if every command succeeded."""

import posixpath
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from ..paths import KERNEL_FOLDERS, normalize
from .calls import Kind, Word
from .commands import accesses_of, unwrapped
from .words import expanded, joined, text_of

_BASH = Language(tree_sitter_bash.language())
_MOST_TEXT = 1 << 16
"""Bytes, beyond which nothing is said: the parser's recovery from errors is quadratic."""
_MOST_DEPTH = 40
"""Blocks within one another, beyond which nothing is said."""
_MOST_STEPS = 10_000
"""Statements walked, beyond which nothing is said."""


class UnsureError(Exception):
    """A text nests or repeats more than a person's would, or was parsed wrongly."""


@dataclass
class _Stage:
    """One stage of a pipeline."""

    chain: Node
    """The whole statement that the stage is a part of."""
    statement: Node | None = None
    words: list[Node] = field(default_factory=list[Node])
    redirects: list[Node] = field(default_factory=list[Node])
    others: list[Node] = field(default_factory=list[Node])
    """Of which only the substitutions count: here-documents, assignments for this command."""

    def add(self, node: Node) -> None:
        """Take in the next part of the text."""
        if node.type == "file_redirect":
            self.redirects.append(node)
            for word in joined(node.children_by_field_name("destination"), node)[1:]:
                self.words += word
        elif node.type.startswith("here"):
            self.others.append(node)
        elif self.statement is None:
            self.statement = node
            for child in node.children if node.type == "command" else ():
                self.add(child)
        else:
            parts = self.others if node.type == "variable_assignment" else self.words
            parts.append(node)


_REGROUPED = {
    "list", "pipeline", "negated_command", "redirected_statement", "heredoc_redirect"
}  # fmt: skip


def _pipelines(statement: Node) -> list[tuple[str, list[_Stage]]]:
    """Take a statement apart into pipelines, each with the operator before it.

    The grammar's nesting is not the shell's: it hangs a redirection on the whole list to its left,
    and on a here-document what follows in its line. The order of the text is right in both.
    """
    pipelines = [("", [_Stage(statement)])]
    rest = [statement]
    while rest:
        node = rest.pop()
        if node.type in _REGROUPED:
            rest += reversed(node.children)
        elif node.type in ("&&", "||"):
            pipelines.append((node.type, [_Stage(statement)]))
        elif node.type in ("|", "|&"):
            pipelines[-1][1].append(_Stage(statement))
        elif node.is_named:
            pipelines[-1][1][-1].add(node)
    return pipelines


@dataclass
class Shell:
    """What is known while walking a text."""

    variables: dict[str, str]
    """Replaced, never changed; PWD is the working directory; absent: not known."""
    reads: dict[str, None] = field(default_factory=dict[str, None])
    writes: dict[str, None] = field(default_factory=dict[str, None])
    deletes: dict[str, None] = field(default_factory=dict[str, None])
    touched: set[str] = field(default_factory=set[str])
    """Written or deleted so far: what is read there is this text's own."""
    folders: set[str] = field(default_factory=set[str])
    start: dict[str, str] = field(default_factory=dict[str, str])
    """The variables with which every branch of the innermost condition begins."""
    is_backquoted: bool = False
    depth: int = 0
    steps: int = 0

    def text(self, text: str) -> bool:
        """Walk a text; False: it cannot be parsed."""
        try:
            source = text.encode()
        except UnicodeEncodeError:
            return False
        if len(source) > _MOST_TEXT or b"\0" in source:
            return False
        root = Parser(_BASH).parse(source).root_node
        if root.has_error:
            return False
        self.block(root)
        return True

    def block(self, node: Node) -> None:
        """Walk the statements below a node; what runs in the background has its own variables."""
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise UnsureError
        children = node.children
        for child, after in zip(children, [*children[1:], None], strict=False):
            if after is not None and after.type == "&":
                with self.scope():
                    self.chain(child)
            elif child.is_named:
                self.chain(child)
        self.depth -= 1

    @contextmanager
    def scope(self) -> Generator[None]:
        """Forget afterwards which variables and folder were set, as a subshell does."""
        before = self.variables
        yield
        self.variables = before

    def chain(self, statement: Node) -> None:
        """Walk pipelines joined by `&&` and `||`; what follows `||` runs after a failure."""
        before = self.variables
        for operator, stages in _pipelines(statement):
            after = self.variables
            if operator == "||":
                self.variables = _common(before, after)
            if len(stages) == 1:
                self.stage(stages[0])
            for stage in stages if len(stages) > 1 else ():
                with self.scope():
                    self.stage(stage)
            if operator == "||":
                self.variables = after

    def stage(self, stage: _Stage) -> None:
        """Run one stage; its redirections are named before it runs, and written after."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise UnsureError
        for node in (*stage.words, *stage.redirects, *stage.others):
            self.substitutions(node)
        targets: list[str] = []
        for node in stage.redirects:
            targets += self.redirect(node)
        if stage.statement is not None:
            if stage.statement.type == "command":
                runs = joined(stage.words, stage.chain)
                self.command([word for run in runs for word in expanded(run, self.variables)])
            else:
                self.compound(stage.statement)
        for target in targets:
            self.touch("write", target)

    def compound(self, node: Node) -> None:
        """Walk a statement that is no simple command."""
        if node.type in ("subshell", "function_definition"):
            self.subshell(node)
        elif node.type in ("if_statement", "case_statement", "while_statement"):
            outer, self.start = self.start, self.variables
            self.block(node)
            self.variables, self.start = _common(self.start, self.variables), outer
        elif node.type in ("elif_clause", "else_clause", "case_item"):
            others, self.variables = self.variables, self.start
            self.block(node)
            self.variables = _common(others, self.variables)
        elif node.type in ("for_statement", "c_style_for_statement"):
            self.loop(node)
        elif node.type in ("compound_statement", "do_group") and node.children[0].type != "((":
            self.block(node)
        else:
            self.substitutions(node)
            self.assignments(node)

    def subshell(self, node: Node) -> None:
        """Walk statements that run in a shell of their own."""
        is_backquoted, outer = node.children[0].type == "`", self.is_backquoted
        if is_backquoted and outer:  # the grammar took a closing backquote for an opening one
            raise UnsureError
        self.is_backquoted = is_backquoted or outer
        with self.scope():
            self.block(node)
        self.is_backquoted = outer

    def loop(self, node: Node) -> None:
        """Walk a loop's body once for each known value of its variable."""
        before, values = self.variables, list[Word]()
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        for value in node.children_by_field_name("value"):
            self.substitutions(value)
            values += expanded([value], self.variables)
        if name is None:
            self.forget(node.named_children[:-1])
        for value in dict.fromkeys(values) or [None]:
            if name is not None:
                self.assign(text_of(name), value)
            if body is not None:
                self.chain(body)
        self.variables = _common(before, self.variables)

    def substitutions(self, node: Node) -> None:
        """Walk the commands within words; forget the variables that arithmetic may change."""
        rest = [node]
        while rest:
            node = rest.pop()
            if node.type in ("command_substitution", "process_substitution"):
                self.subshell(node)
                continue
            if node.type in ("arithmetic_expansion", "compound_statement"):
                self.forget(node.named_children)
            rest += reversed(node.children)

    def assignments(self, statement: Node) -> None:
        """Set or forget the variables of `a=b c=d`, `export a=b` or `unset a`."""
        for node in (statement, *statement.named_children):
            if node.type == "variable_assignment":
                name, operator, *values = node.children
                words = expanded(values, self.variables) or [""]
                is_known = operator.type == "=" and len(words) == 1
                self.assign(text_of(name), words[0] if is_known else None)
            elif statement.type == "unset_command":
                self.forget([node])

    def forget(self, nodes: list[Node]) -> None:
        """Forget the variables that are named anywhere in these nodes."""
        rest = [*nodes]
        while rest:
            node = rest.pop()
            if node.type in ("variable_name", "word"):
                self.assign(text_of(node), None)
            rest += node.children

    def assign(self, name: str, value: Word) -> None:
        """Set a variable; None: to something that is not known."""
        others = {other: text for other, text in self.variables.items() if other != name}
        self.variables = others if value is None else {**others, name: value}

    def redirect(self, node: Node) -> list[str]:
        """Note what a redirection reads; return the paths that it is going to write."""
        operator = next((child.type for child in node.children if not child.is_named), "")
        runs = joined(node.children_by_field_name("destination"), node)
        words = expanded(runs[0], self.variables) if runs else []
        name = words[0] if len(words) == 1 else None
        if not name or (operator.endswith("&") and (name == "-" or name.isdigit())):
            return []
        if operator == "<":
            self.touch("read", name)
        path = self.path(name)
        return [path] if path is not None and ">" in operator else []

    def command(self, words: list[Word]) -> None:
        """Run a simple command."""
        found, words = unwrapped(words)
        if words and words[0] is not None:
            builtin = _BUILTINS.get(words[0])
            if builtin is not None:
                builtin(self, words[1:])
            else:
                found += accesses_of(words, self.is_folder)
        for kind, name in found:
            self.touch(kind, name)

    def touch(self, kind: Kind, name: str) -> None:
        """Note what is done to a file, or run a text."""
        path = self.path(name)
        if kind == "code":
            with self.scope():
                self.forget_all([])
                self.text(name)
        elif path is None or f"{path}/".startswith(KERNEL_FOLDERS):
            return
        elif kind == "folder":
            self.folders.add(path)
        elif kind == "delete":
            inner = f"{path}/"
            self.writes = {kept: None for kept in self.writes if not f"{kept}/".startswith(inner)}
            self.deletes[path] = None
            self.folders.discard(path)
            self.touched.add(path)
        elif not self.is_folder(name):
            if kind == "write":
                self.deletes.pop(path, None)
                self.writes[path] = None
                self.touched.add(path)
            elif path not in self.touched:
                self.reads[path] = None

    def path(self, name: str) -> str | None:
        """Make a name absolute; None: relative to no known folder."""
        return normalize(name, self.variables.get("PWD"))

    def is_folder(self, name: str) -> bool:
        """Whether a name says that it is a folder's, or the text has shown it."""
        is_named = name.endswith("/") or posixpath.basename(name) in (".", "..")
        return is_named or self.path(name) in self.folders

    def change_folder(self, words: list[Word]) -> None:
        """`cd` and `pushd`."""
        names = [word for word in words if not word or word == "-" or not word.startswith("-")]
        name = names[0] if names else self.variables.get("HOME")
        if name == "-":
            name = self.variables.get("OLDPWD")
        path = self.path(name) if name is not None else None
        self.assign("OLDPWD", self.variables.get("PWD"))
        self.assign("PWD", path)
        if path is not None:
            self.folders.add(path)

    def leave_folder(self, _: list[Word]) -> None:
        """`popd`, to a folder that nobody kept count of."""
        self.assign("PWD", None)

    def read_variables(self, words: list[Word]) -> None:
        """`read a b`: to whatever the input is."""
        for word in words:
            self.assign(word or "", None)

    def forget_all(self, _: list[Word]) -> None:
        """`let`, which may set any variable; but the folder stays known."""
        self.variables = {key: self.variables[key] for key in ("PWD",) if key in self.variables}

    def evaluate(self, words: list[Word]) -> None:
        """`eval`, if the whole text is known."""
        known = [word for word in words if word is not None]
        if len(known) == len(words):
            self.text(" ".join(known))


_BUILTINS: dict[str, Callable[[Shell, list[Word]], None]] = {
    "cd": Shell.change_folder,
    "pushd": Shell.change_folder,
    "popd": Shell.leave_folder,
    "read": Shell.read_variables,
    "mapfile": Shell.read_variables,
    "readarray": Shell.read_variables,
    "let": Shell.forget_all,
    "eval": Shell.evaluate,
}


def _common(some: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in some.items() if others.get(name) == value}
