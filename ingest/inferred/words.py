"""Words of a text as the shell would expand them; None for what cannot be known from the text."""

from tree_sitter import Node

from .calls import Word

_EXPANSIONS = {"simple_expansion", "expansion"}
_PATTERN = frozenset("*?[{$`")
"""Letters that, unquoted, make a word stand for others; the grammar leaves some `$` in words."""
_MANY = {"word", "brace_expression", "command_substitution"}
"""Parts that, where they are not known, may stand for any number of words."""


def text_of(node: Node) -> str:
    """Return the text of a node."""
    return (node.text or b"").decode()


def joined(nodes: list[Node], around: Node) -> list[list[Node]]:
    """Join the words that the grammar takes apart, with `around` for what it skips as a gap."""
    runs: list[list[Node]] = []
    source, start, end = around.text or b"", around.start_byte, 0
    for node in nodes:
        gap = source[end : node.start_byte - start].replace(b"\\\n", b"")
        if runs and (b"\\" in gap or not gap) and not text_of(node)[:1].isspace():
            runs[-1] += [around, node] if gap else [node]
        else:
            runs.append([node])
        end = node.end_byte - start
    return runs


def expanded(nodes: list[Node], variables: dict[str, str]) -> list[Word]:
    """Expand one word of the text as the shell would: to one word, to none, or to several."""
    parts: list[Node] = []
    for node in nodes:
        inner = node.children[0] if node.type == "command_name" else node
        parts += inner.children if inner.type == "concatenation" else [inner]
    if not parts:
        return []
    node = parts[0]
    if len(parts) == 1 and node.type in _EXPANSIONS:
        value = value_of(node, variables)
        if value is not None and not _PATTERN.intersection(value):
            return [*value.split()]
        is_one = any(child.type == "variable_name" for child in node.children)
        return [None] if is_one and value is None else [None, None]
    if text_of(node).startswith("~"):
        return [None]
    texts = [_part(part, variables) for part in parts]
    known = [text for text in texts if text is not None]
    if len(known) == len(texts):
        return ["".join(known)]
    unknown = [part.type for part, text in zip(parts, texts, strict=True) if text is None]
    return [None] if _MANY.isdisjoint(unknown) else [None, None]


def _part(node: Node, variables: dict[str, str]) -> Word:
    """Resolve one part of a word, without its quotes."""
    text = text_of(node)
    if node.type in ("word", "$"):
        return _unescaped(text)
    if node.type == "number" and not node.named_children:
        return text
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "ansi_c_string":
        return text[2:-1] if "\\" not in text else None
    if node.type == "string":
        return _quoted(node, variables)
    value = value_of(node, variables)
    is_plain = value is not None and len(value.split()) == 1 and not _PATTERN.intersection(value)
    return value if is_plain else None


def value_of(node: Node, variables: dict[str, str]) -> Word:
    """Look up `$a`, `${a}` or `$(pwd)`; None for any other expansion."""
    named = node.named_children
    if node.type in _EXPANSIONS and len(named) == 1 and named[0].type == "variable_name":
        is_bare = node.type == "simple_expansion" or len(node.children) == 3
        return variables.get(text_of(named[0])) if is_bare else None
    return variables.get("PWD") if text_of(node).strip() in ("$(pwd)", "`pwd`") else None


def _unescaped(text: str) -> Word:
    """Resolve the backslashes of an unquoted text; None: it is a pattern."""
    kept: list[str] = []
    rest = iter(text)
    for letter in rest:
        if letter in _PATTERN:
            return None
        kept.append(next(rest, "") if letter == "\\" else letter)
    return "".join(kept)


def _quoted(node: Node, variables: dict[str, str]) -> Word:
    """Resolve a text in double quotes; its tokens may hold the white space before them."""
    source, at = node.text or b"", 1
    pieces: list[str] = []
    for child in node.named_children:
        if child.type == "string_content":
            continue
        value = value_of(child, variables)
        if value is None:
            return None
        end = child.end_byte - node.start_byte
        start = end - len((child.text or b"").lstrip())
        pieces += [_unquoted(source[at:start]), value]
        at = end
    return "".join([*pieces, _unquoted(source[at:-1])])


def _unquoted(source: bytes) -> str:
    """Resolve the backslashes of a text that stood in double quotes."""
    kept: list[str] = []
    rest = iter(source.decode())
    for letter in rest:
        after = next(rest, "") if letter == "\\" else ""
        kept.append(letter + after if not after or after not in '$`"\\\n' else after.strip("\n"))
    return "".join(kept)
