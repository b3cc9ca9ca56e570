"""The faults that can be planted in a Python file, found in its syntax tree.

A mutation is a span of the source and the text that replaces it. The operators are those of this
field: sign, mask, index, seat, clip, off by one, missing copy, missing sync. Never touches
annotations, decorators, docstrings, asserts or the wording of an error, and never what names a
process to signal or a folder to delete. Runs nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SWAPPED_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "//",
    ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip
SHIFTED_COMPARISONS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
SWAPPED_NAMES = {
    "mean": "sum", "sum": "mean", "min": "max", "max": "min", "argmax": "argmin",
    "argmin": "argmax", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum",
    "exp": "expm1", "amax": "amin", "amin": "amax", "cumsum": "cumprod", "floor": "ceil",
    "ceil": "floor", "append": "extend", "zeros": "ones", "ones": "zeros",
}  # fmt: skip
BUILT_INS = {"min", "max", "any", "all"}
COPIES = {"copy", "clone", "detach", "deepcopy", "sorted", "reversed", "dict"}
CLIPS = {"clamp", "clip", "clamp_", "masked_fill", "masked_fill_", "abs"}
DANGEROUS = {"kill", "killpg", "rmtree", "unlink", "terminate", "remove", "send_signal", "system"}
"""Calls whose arguments stay as they are: a mutant must not hurt what is not its own."""
NEVER_HERE = {"TYPE_CHECKING", "os.name == 'nt'", "sys.platform == 'win32'"}
"""Conditions of what does not run on the machine that runs the tests."""
WORDS_AND_WIDTHS = {"strict", "help", "description", "metavar", "dtype"}
"""Arguments without which a program does the same on sound input."""


@dataclass(frozen=True)
class Mutation:
    """One fault: `source[start:end]` becomes `text`."""

    path: str
    operator: str
    line: int
    end_line: int
    start: int
    end: int
    text: str
    scope: str
    """The function or class it lies in."""

    def apply(self, source: str) -> str:
        """Return the source with the fault in it."""
        return source[: self.start] + self.text + source[self.end :]


Span = tuple[ast.AST, str]
Operator = Callable[[ast.AST, "Source"], Iterator[Span]]


class Source:
    """A file's text with the places of its nodes."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.lines = text.splitlines()

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends, in characters."""
        return (
            self._offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self._offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def of(self, node: ast.AST) -> str:
        """Return a node's text."""
        start, end = self.span(node)
        return self.text[start:end]

    def group(self, node: ast.AST) -> str:
        """Return a node's text in parentheses where it needs them; a node's own has none."""
        atoms = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Dict)
        return self.of(node) if isinstance(node, atoms) else f"({self.of(node)})"

    def _offset(self, line: int, column: int) -> int:
        # The tree counts bytes, the text characters.
        prefix = self.lines[line - 1].encode("utf-8")[:column].decode("utf-8")
        return self.starts[line - 1] + len(prefix)


def mutations(path: str, text: str) -> list[Mutation]:
    """Return every fault that can be planted in a file, in the order of its lines."""
    source = Source(path, text)
    result: list[Mutation] = []
    for node, scope in _nodes(ast.parse(text), ""):
        for name, operator in OPERATORS.items():
            for target, replacement in operator(node, source):
                start, end = source.span(target)
                if source.text[start:end] == replacement:
                    continue
                result.append(
                    Mutation(path, name, target.lineno, target.end_lineno,  # type: ignore[attr-defined]
                             start, end, replacement, scope)
                )  # fmt: skip
    return sorted(result, key=lambda fault: (fault.start, fault.end, fault.operator))


def _nodes(node: ast.AST, scope: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes that may be mutated, each with the name of its function or class."""
    yield node, scope
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}" if scope else node.name
    for child in _children(node):
        if not _is_left_alone(child):
            yield from _nodes(child, scope)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    skipped = {"annotation", "returns", "decorator_list", "type_params", "bases", "type_comment"}
    for field, value in ast.iter_fields(node):
        if field in skipped:
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                yield item


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert | ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # A docstring.
    if isinstance(node, ast.Call) and _called(node) in DANGEROUS | {"cast", "TypeVar", "getLogger"}:
        return True
    if isinstance(node, ast.If) and ast.unparse(node.test) in NEVER_HERE:
        return True
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in {"__all__", "__slots__"}


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _sign(node: ast.AST, source: Source) -> Iterator[Span]:
    """`a - b` for `a + b`, `x` for `-x`, `|` for `&`."""
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED_OPERATORS:
        if isinstance(node.left, ast.Constant | ast.JoinedStr) and isinstance(
            getattr(node.left, "value", ""), str
        ):
            return  # Text that is joined or filled in.
        swapped = SWAPPED_OPERATORS[type(node.op)]
        yield node, f"{source.group(node.left)} {swapped} {source.group(node.right)}"
    if isinstance(node, ast.AugAssign) and type(node.op) in SWAPPED_OPERATORS:
        swapped = SWAPPED_OPERATORS[type(node.op)]
        yield node, f"{source.of(node.target)} {swapped}= {source.of(node.value)}"
        yield node, f"{source.of(node.target)} = {source.of(node.value)}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        yield node, source.group(node.operand)


def _compare(node: ast.AST, source: Source) -> Iterator[Span]:
    """`<=` for `<`, `!=` for `==`."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        shifted = SHIFTED_COMPARISONS[type(node.ops[0])]
        yield node, f"{source.group(node.left)} {shifted} {source.group(node.comparators[0])}"


def _condition(node: ast.AST, source: Source) -> Iterator[Span]:
    """A condition negated, or one half of it left out."""
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield node.test, f"(not ({source.of(node.test)}))"
    if isinstance(node, ast.BoolOp):
        for operand in node.values:
            yield node, source.group(operand)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, source.group(node.operand)
    if isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield test, "True"


def _off_by_one(node: ast.AST, source: Source) -> Iterator[Span]:
    """A number or an index that is one too high, a flag that is the other."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield node, str(not node.value)
        elif isinstance(node.value, int):
            yield node, str(node.value + 1)
        elif isinstance(node.value, float):
            yield node, repr(node.value * 2 if node.value else 0.5)
    if isinstance(node, ast.Slice):
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, ast.Constant):
                yield bound, f"({source.of(bound)}) + 1"


def _seat(node: ast.AST, source: Source) -> Iterator[Span]:
    """Two arguments, or the two ends of a choice, in each other's place."""
    if isinstance(node, ast.Call) and _called(node) not in {"isinstance", "getattr", "setattr"}:
        for first, second in zip(node.args, node.args[1:], strict=False):
            if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
                continue
            start, end = source.span(first)[0], source.span(second)[1]
            joined = source.text[source.span(first)[1] : source.span(second)[0]]
            whole_start, whole_end = source.span(node)
            swapped = f"{source.of(second)}{joined}{source.of(first)}"
            yield node, source.text[whole_start:start] + swapped + source.text[end:whole_end]
    if isinstance(node, ast.IfExp):
        test, body, other = (source.group(branch) for branch in (node.test, node.body, node.orelse))
        yield node, f"{other} if {test} else {body}"
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in {
        "seat", "player", "slot", "row", "index", "step", "t",
    }:  # fmt: skip
        yield node, f"(1 - {node.id})"


def _clip(node: ast.AST, source: Source) -> Iterator[Span]:
    """A bound or a mask that is left out."""
    if isinstance(node, ast.Call) and _called(node) in CLIPS:
        if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
            yield node, source.group(node.func.value)
        elif node.args:
            yield node, source.group(node.args[0])
    if isinstance(node, ast.Call) and _called(node) == "where" and len(node.args) == 3:
        test, yes, no = (source.of(argument) for argument in node.args)
        yield node, f"{source.of(node.func)}({test}, {no}, {yes})"
        yield node, f"({yes})"
    if isinstance(node, ast.Call) and _called(node) in {"min", "max"} and len(node.args) == 2:
        for argument in node.args:
            yield node, source.group(argument)


def _copy(node: ast.AST, source: Source) -> Iterator[Span]:
    """An object shared instead of copied, an order lost, a gradient that flows on."""
    if not isinstance(node, ast.Call) or _called(node) not in COPIES:
        return
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value) and not node.args:
        yield node, source.group(node.func.value)
    elif len(node.args) == 1 and not node.keywords:
        yield node, source.group(node.args[0])


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in {"np", "torch", "copy", "math", "functional"}


def _swap_name(node: ast.AST, source: Source) -> Iterator[Span]:
    """`sum` for `mean`, `min` for `max`."""
    if not isinstance(node, ast.Call) or _called(node) not in SWAPPED_NAMES:
        return
    other = SWAPPED_NAMES[_called(node)]
    if isinstance(node.func, ast.Name) and node.func.id in BUILT_INS:
        yield node.func, other
    elif isinstance(node.func, ast.Attribute):
        yield node.func, f"{source.group(node.func.value)}.{other}"


def _lost_effect(node: ast.AST, source: Source) -> Iterator[Span]:
    """A call, an assignment to an attribute or a jump that is left out."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        if _is_super_init(node.value):
            return
        yield node, "pass"
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript):
        yield node, "pass"
    if isinstance(node, ast.AugAssign | ast.Delete):
        yield node, "pass"
    if isinstance(node, ast.Continue):
        yield node, "break"
    if isinstance(node, ast.Break):
        yield node, "continue"


def _is_super_init(call: ast.AST) -> bool:
    return ast.unparse(call).startswith("super().")


def _lost_keyword(node: ast.AST, source: Source) -> Iterator[Span]:
    """An argument given by name that is forgotten, so that its default holds."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in WORDS_AND_WIDTHS:
            continue
        arguments = [source.of(argument) for argument in node.args]
        arguments += [
            f"{other.arg}={source.of(other.value)}" if other.arg else f"**{source.of(other.value)}"
            for other in node.keywords
            if other is not keyword
        ]
        yield node, f"{source.of(node.func)}({', '.join(arguments)})"


OPERATORS: dict[str, Operator] = {
    "sign": _sign,
    "compare": _compare,
    "condition": _condition,
    "off by one": _off_by_one,
    "seat": _seat,
    "clip": _clip,
    "copy": _copy,
    "name": _swap_name,
    "lost effect": _lost_effect,
    "lost keyword": _lost_keyword,
}
