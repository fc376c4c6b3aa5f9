"""Mutants of functions: one place of the source changed, compiled, and put in the place of the code that runs.

A function keeps its identity: what changes is its `__code__`, so that tables, closures and partial applications of it
run the mutant. A nested function that lives on its own (a rule made by a function of its class) is one too.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import collections
import contextlib
import copy
import functools
import types
from pathlib import Path
from typing import NamedTuple

import tg
import tg.rules
from tg_conformance.copies import everything

FLAGS = __future__.annotations.compiler_flag
WITHIN = ("<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>")

SWAPPED = {  # functions that are taken for one another
    "add": "subtract", "subtract": "add", "multiply": "divide", "divide": "multiply", "maximum": "minimum",
    "minimum": "maximum", "min": "max", "max": "min", "any": "all", "all": "any", "less": "less_equal",
    "less_equal": "less", "greater": "greater_equal", "greater_equal": "greater", "floor_divide": "multiply",
    "exp": "expm1", "expm1": "exp", "log": "log1p", "log1p": "log", "zeros": "ones", "equal": "not_equal",
    "not_equal": "equal", "logical_and": "logical_or", "logical_or": "logical_and",
}  # fmt: skip
NEW = frozenset(SWAPPED.values()) - frozenset(dir(builtins))
DROPPED = frozenset({"negative", "reciprocal", "square", "sqrt", "sorted", "reversed", "absolute", "abs", "conjugate"})
ORDERED = frozenset({  # whose first two operands do not change places
    "divide", "subtract", "power", "floor_divide", "remainder", "where", "gate", "less", "greater", "less_equal",
    "greater_equal", "matmul",
})  # fmt: skip
GUARDS = ("is_", "holds", "_is", "_has", "has_", "_may", "_keeps", "_fits", "_same", "isinstance", "all", "any")
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


COSTS = frozenset({  # how much is looked at, or pays: beyond it nothing is rewritten, and nothing is wrong
    "DEPTH", "depth", "FEW", "LARGEST", "LARGEST_DISTRIBUTED", "LARGEST_POWER", "LARGEST_RANGE", "LONGEST", "LOOKED_AT",
    "MANY", "MOST_FACTORS", "MOST_NODES", "MOST_PIECES", "MOST_TERMS", "PIECES", "QUOTIENT", "SMALL", "TRIALS",
    "VERY_MANY", "WRITES", "cost", "gain", "trials", "uses", "_cost",
})  # fmt: skip
SIGNS = frozenset({"sign", "power", "step"})  # integers that are not 0: one is above 0 where it is not below
DTYPES = frozenset({"is_float", "is_inexact"})  # what is said of more is of complex numbers and integers


class Site(NamedTuple):
    """A change of one node of a function: which one in the order of `ast.walk`, and what it becomes."""

    place: int
    label: str
    change: object  # a function of the node, which gives what takes its place
    is_of_cost: bool  # whether it changes what is rewritten, and not into what


class Unit(NamedTuple):
    """A function of the source, the code of it that runs, and all functions alive that have this code."""

    path: Path
    name: str
    statement: ast.stmt  # of the module, the one that holds it
    place: int  # of the function's node among those of the statement
    index: int  # of its code among those that the statement compiles to
    functions: tuple

    @property
    def node(self):
        return list(ast.walk(self.statement))[self.place]


class Mutant(NamedTuple):
    """A unit with one change."""

    unit: Unit
    site: Site

    @property
    def key(self):
        """What identifies it while lines move: file, function, the text that is changed and how."""
        return f"{self.unit.path.stem}.{self.unit.name}: {self.site.label}"

    def code(self):
        statement = copy.deepcopy(self.unit.statement)
        function = list(ast.walk(statement))[self.unit.place]
        replace(function, self.site)
        ast.fix_missing_locations(statement)
        found = codes(statement, self.unit.path)[self.unit.index]
        free = self.unit.functions[0].__code__.co_freevars
        if found.co_freevars != free:
            close_over(function, free)
            ast.fix_missing_locations(statement)
            found = codes(statement, self.unit.path)[self.unit.index]
        return found

    def ready(self):
        """The mutant compiled: a function that gives a context in which it is what is called."""
        return functools.partial(self.in_place, self.code())

    @contextlib.contextmanager
    def in_place(self, found):
        """While this runs, a code is that of the functions."""
        before = [f.__code__ for f in self.unit.functions]
        for f in self.unit.functions:
            for name in named_in(found) & NEW:  # a sibling that the file does not import
                f.__globals__.setdefault(name, getattr(tg, name))
        try:
            for f in self.unit.functions:
                f.__code__ = found
            forget()
            yield
        finally:
            for f, code in zip(self.unit.functions, before, strict=True):
                f.__code__ = code
            forget()


@functools.cache
def cached():
    """The functions of rules that remember what they have returned."""
    every = [f for f in everything() if type(f) is functools._lru_cache_wrapper]
    return [f for f in every if getattr(f, "__module__", "").startswith(tg.rules.__name__)]


def forget():
    """Let functions of rules be called again for what they were asked before a mutant took their place, or after."""
    for f in cached():
        f.cache_clear()


def close_over(function, names):
    """Let a function have these free variables though it no longer uses them: as names that are never looked up."""
    never = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
    if isinstance(function, ast.Lambda):
        function.body = ast.IfExp(ast.Constant(True), function.body, never)
    else:
        function.body.append(ast.If(ast.Constant(False), [ast.Expr(never)], []))


def named_in(code):
    """The names that a code and those within it look up."""
    return frozenset(code.co_names).union(*(named_in(c) for c in code.co_consts if isinstance(c, types.CodeType)))


def replace(function, site):
    target = list(ast.walk(function))[site.place]
    made = site.change(target)
    for parent in ast.walk(function):
        for field, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, field, made)
                return
            if isinstance(value, list):
                for k, item in enumerate(value):
                    if item is target:
                        value[k] = made
                        return
    raise AssertionError(site)


# --- functions that run ----------------------------------------------------------------------------------------------


def codes(statement, path):
    """The code of a statement and of all functions in it, in the order of their constants."""
    module = ast.Module([statement], [])
    found = []

    def visit(code):
        found.append(code)
        for one in code.co_consts:
            if isinstance(one, types.CodeType):
                visit(one)

    visit(compile(module, str(path), "exec", flags=FLAGS, dont_inherit=True))
    return found


@functools.cache
def parsed(path):
    return ast.parse(path.read_text(), str(path))


def begins(code):
    """Where the first expression of a code stands: what tells lambdas of one line apart."""
    spans = [(line, column) for line, _, column, end in code.co_positions() if line and end]
    return code.co_name, code.co_firstlineno, min(spans, default=None)


@functools.cache
def alive():
    """All functions of the process, by their code."""
    found = {}
    for one in everything():
        if type(one) is types.FunctionType:  # an instance of another class may be loaded by being asked
            found.setdefault(one.__code__, []).append(one)
    return found


def unit_of(code):
    """The unit of a code that ran; None where it is made anew at each call, as part of another."""
    functions = alive().get(code)
    if not functions or code.co_name in WITHIN:
        return None
    path = Path(code.co_filename)
    wanted = begins(code)
    for statement in parsed(path).body:
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        if not first <= code.co_firstlineno <= statement.end_lineno:
            continue
        compiled = codes(statement, path)
        for index, one in enumerate(compiled):
            if begins(one) == wanted:
                return Unit(path, code.co_qualname, statement, place_of(statement, one), index, tuple(functions))
    return None


def place_of(statement, code):
    """The node of a function among those of a statement, by where it stands."""
    found = None
    for k, node in enumerate(ast.walk(statement)):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if min([node.lineno, *(d.lineno for d in node.decorator_list)]) == code.co_firstlineno:
                return k
        elif isinstance(node, ast.Lambda) and code.co_name == "<lambda>":
            spans = [p for p in code.co_positions() if p[0] is not None and p[2] is not None]
            inside = all(
                (node.body.lineno, node.body.col_offset) <= (p[0], p[2]) for p in spans if p[2] or p[1] != p[0]
            )
            inside = inside and all(p[0] <= node.body.end_lineno for p in spans)
            if inside and node.lineno == code.co_firstlineno:
                found = k  # the innermost is the last
    return found


# --- what is changed -------------------------------------------------------------------------------------------------


def mutants(unit):
    """All mutants of a function."""
    node = unit.node
    return [Mutant(unit, site) for site in sites(node, unit)]


def sites(function, unit):
    own = frozenset(id(n) for f in nested(function, unit) for n in ast.walk(f))
    skipped = set(own)
    for n in ast.walk(function):
        if isinstance(n, ast.FunctionDef):
            if n.body and isinstance(n.body[0], ast.Expr) and isinstance(n.body[0].value, ast.Constant):
                skipped.update(id(m) for m in ast.walk(n.body[0]))
            apart = (*n.args.args, *n.args.kwonlyargs, *n.args.defaults, *n.args.kw_defaults, *n.decorator_list)
            skipped.update(id(m) for a in apart if a is not None for m in ast.walk(a))
            if n.returns is not None:
                skipped.update(id(m) for m in ast.walk(n.returns))
        elif isinstance(n, ast.AnnAssign):
            skipped.update(id(m) for m in ast.walk(n.annotation))
        elif isinstance(n, ast.Assert | ast.Raise) or (isinstance(n, ast.keyword) and n.arg == "strict"):
            skipped.update(id(m) for m in ast.walk(n))
    found, named = [], collections.Counter()
    above = {id(child): n for n in ast.walk(function) for child in ast.iter_child_nodes(n)}
    for place, n in enumerate(ast.walk(function)):
        if id(n) in skipped or n is function:
            continue
        if isinstance(n, ast.Constant) and is_of_sign(above[id(n)]) and isinstance(above[id(n)].ops[0], ast.Lt):
            continue  # -1 is what is below 1 as well
        for label, change in changes(n):
            full = f"{label} in {shortened(above[id(n)])}" if isinstance(n, ast.Constant) else label
            named[full] += 1
            is_form = is_of_cost(compared(changed_part(n, change, above[id(n)]), above)) or is_wider(n, change)
            found.append(Site(place, f"{full} ({named[full]})" if named[full] > 1 else full, change, is_form))
    return found


def changed_part(n, change, parent):
    """What a change is about: the operand that is left out, the condition, what a constant stands in."""
    if isinstance(n, ast.BoolOp):
        return n.values[change.keywords["k"]]
    if isinstance(n, ast.If | ast.IfExp):
        return n.test
    return parent if isinstance(n, ast.Constant) else n


def compared(n, above):
    """The comparison of which an expression is a side, or the expression."""
    outer = n
    while isinstance(outer, ast.BinOp | ast.Attribute | ast.Constant) and isinstance(above.get(id(outer)), ast.expr):
        outer = above[id(outer)]
    return outer if isinstance(outer, ast.Compare) else n


def is_of_cost(n):
    """Whether a comparison or a sum is with a number that says how much is looked at, or what something costs."""
    names = {
        m.id if isinstance(m, ast.Name) else m.attr for m in ast.walk(n) if isinstance(m, ast.Name | ast.Attribute)
    }
    return isinstance(n, ast.Compare | ast.BinOp | ast.AugAssign) and not names.isdisjoint(COSTS)


def is_wider(n, change):
    """Whether what is left out says which dtypes something is for, so that it is said of more."""
    part = n.values[change.keywords["k"]] if isinstance(n, ast.BoolOp) else n
    if isinstance(part, ast.UnaryOp):
        part = part.operand
    return isinstance(n, ast.BoolOp | ast.Call) and isinstance(part, ast.Call) and name_of(part.func) in DTYPES


def is_of_sign(n):
    """Whether it is asked if an integer that is not 0 is above or below 0."""
    return isinstance(n, ast.Compare) and name_of(n.left) in SIGNS and ast.unparse(n.comparators[0]) == "0"


def name_of(n):
    return n.id if isinstance(n, ast.Name) else n.attr if isinstance(n, ast.Attribute) else ""


def shortened(n):
    """The text of a node on one line, cut where it is long."""
    if not isinstance(n, ast.expr | ast.stmt):
        return type(n).__name__
    return " ".join(ast.unparse(n).split())[:110]


def nested(function, unit):
    """Functions within one that are units of their own: those of which one is alive while the outer has not to run."""
    if isinstance(function, ast.Lambda):
        return []
    inner = [n for n in ast.walk(function) if isinstance(n, ast.FunctionDef | ast.Lambda) and n is not function]
    lines = {(c.co_name, c.co_firstlineno) for c in alive() if c.co_filename == str(unit.path)}
    return [n for n in inner if (getattr(n, "name", "<lambda>"), n.lineno) in lines]


def changes(n):
    """The changes of one node, each with a label that a reader understands."""
    short = shortened(n)
    if isinstance(n, ast.Compare):
        yield from of_comparison(n, short)
    elif isinstance(n, ast.BoolOp):
        for k, value in enumerate(n.values):
            yield f"{short} without {ast.unparse(value)[:70]}", functools.partial(without_value, k=k)
    elif isinstance(n, ast.If):
        test = ast.unparse(n.test)[:90]
        yield f"if {test}: never", lambda m: with_test(m, value=False)
        if not isinstance(n.body[0], ast.Return) and not n.orelse:
            yield f"if {test}: always", lambda m: with_test(m, value=True)
    elif isinstance(n, ast.IfExp):
        yield f"{short}: always the first", lambda m: m.body
        yield f"{short}: always the second", lambda m: m.orelse
    elif isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub | ast.Not | ast.Invert):
        yield f"{short} without its sign", lambda m: m.operand
    elif isinstance(n, ast.BinOp) and type(n.op) in ARITHMETIC and not is_text(n):
        new = ARITHMETIC[type(n.op)]
        yield f"{short} as {new.__name__}", lambda m: ast.BinOp(m.left, new(), m.right)
    elif isinstance(n, ast.AugAssign) and type(n.op) in ARITHMETIC:
        new = ARITHMETIC[type(n.op)]
        yield f"{short} as {new.__name__}", lambda m: ast.AugAssign(m.target, new(), m.value)
        yield f"{short} dropped", lambda m: ast.Pass()
    elif isinstance(n, ast.Constant):
        yield from of_constant(n)
    elif isinstance(n, ast.Call):
        yield from of_call(n, short)
    elif isinstance(n, ast.Return) and n.value is not None:
        if not (isinstance(n.value, ast.Constant) and n.value.value in (None, True, False)):
            yield f"{short}: None in its place", lambda m: ast.Return(ast.Constant(None))
    elif isinstance(n, ast.Expr) and isinstance(n.value, ast.Call):
        yield f"{short} dropped", lambda m: ast.Pass()
    elif isinstance(n, ast.comprehension) and n.ifs:
        conditions = " and ".join(map(ast.unparse, n.ifs))[:90]
        yield f"comprehension without if {conditions}", lambda m: ast.comprehension(m.target, m.iter, [], m.is_async)
    elif isinstance(n, ast.For) and isinstance(n.iter, ast.Tuple) and len(n.iter.elts) > 1:
        yield f"for {ast.unparse(n.target)} in {ast.unparse(n.iter)[:70]}: the first only", first_only
    elif isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice) and n.slice.step is not None:
        yield f"{short} as it was", lambda m: m.value


def is_text(n):
    return any(
        isinstance(m, ast.JoinedStr) or (isinstance(m, ast.Constant) and isinstance(m.value, str)) for m in ast.walk(n)
    )


def of_comparison(n, short):
    if len(n.ops) == 1:
        for new in COMPARISONS.get(type(n.ops[0]), ())[is_of_sign(n) :]:
            yield f"{short} as {new.__name__}", functools.partial(with_comparison, new=new)
        if isinstance(n.comparators[0], ast.Tuple | ast.Set) and isinstance(n.ops[0], ast.In | ast.NotIn):
            for k, e in enumerate(n.comparators[0].elts):
                yield f"{short} without {ast.unparse(e)}", functools.partial(without_element, k=k)
        return
    for k, op in enumerate(n.ops):
        new = COMPARISONS[type(op)][0]
        yield f"{short}, number {k} as {new.__name__}", functools.partial(with_comparison, new=new, k=k)


def of_constant(n):
    value = n.value
    if value is True or value is False:
        yield f"{value} as {not value}", lambda m: ast.Constant(not m.value)
    elif type(value) is int:
        yield f"{value} as {value + 1}", lambda m: ast.Constant(m.value + 1)
        if value > 0:
            yield f"{value} as {value - 1}", lambda m: ast.Constant(m.value - 1)
    elif type(value) is float:
        yield f"{value} as {value + 1}", lambda m: ast.Constant(m.value + 1)


def of_call(n, short):
    name = name_of(n.func)
    is_method = isinstance(n.func, ast.Attribute) and name == "add"  # of a set
    if name in SWAPPED and not is_method:
        yield f"{short} by {SWAPPED[name]}", functools.partial(with_function, name=SWAPPED[name])
    if name in DROPPED and len(n.args) == 1:
        yield f"{short} without {name}", lambda m: m.args[0]
    shown = [ast.unparse(a) for a in n.args[:2]]
    if name in ORDERED and len(set(shown)) == 2 and not any(isinstance(a, ast.Starred) for a in n.args):
        yield (
            f"{short} with operands swapped",
            lambda m: ast.Call(m.func, [m.args[1], m.args[0], *m.args[2:]], m.keywords),
        )
    if name.startswith(GUARDS) and name not in ("any", "all"):
        yield f"{short} as True", lambda m: ast.Constant(True)


def with_function(m, name):
    func = ast.Name(name, ast.Load()) if isinstance(m.func, ast.Name) else ast.Attribute(m.func.value, name, ast.Load())
    return ast.Call(func, m.args, m.keywords)


def without_value(m, k):
    rest = m.values[:k] + m.values[k + 1 :]
    return rest[0] if len(rest) == 1 else ast.BoolOp(m.op, rest)


def with_test(m, value):
    return ast.If(ast.Constant(value), m.body, m.orelse)


def with_comparison(m, new, k=0):
    return ast.Compare(m.left, [*m.ops[:k], new(), *m.ops[k + 1 :]], m.comparators)


def without_element(m, k):
    listed = m.comparators[0]
    rest = listed.elts[:k] + listed.elts[k + 1 :]
    return ast.Compare(m.left, m.ops, [ast.Tuple(rest, ast.Load())])


def first_only(m):
    return ast.For(m.target, ast.Tuple(m.iter.elts[:1], ast.Load()), m.body, m.orelse)
