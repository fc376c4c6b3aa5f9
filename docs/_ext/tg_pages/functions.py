"""Pages of what `tg` offers beside the functions of arrays: variables, compiling, differentiation, modules, errors."""

from __future__ import annotations

import inspect
import operator
import re
from typing import Any

import tg
from tg.errors import TgError
from tg.functions.backends import backend
from tg.types.names import CONSTANTS
from tg_pages.docstring import cell, entry, escaped, myst, sentence, signature, table


def is_of_modules(value: Any) -> bool:
    """Whether something of `tg.nn` is a module, or a function of modules; the others have pages of their own."""
    return str(getattr(inspect.unwrap(value), "__module__", "")).startswith("tg.nn.")


PARTS = {
    "variables": ("Variables", ("scalar", "vector", "matrix", "tensor", "shared", "constant", "as_variable")),
    "compiling": (
        "Compiling",
        (
            "function",
            "jit",
            "evaluate",
            "with_updates",
            "wrap",
            "debug_print",
            "backend",
            "backends",
            "config",
            "release_memory",
        ),
    ),
    "gradients": (
        "Differentiation",
        ("grad", "value_and_grad", "vjp", "jvp", "jacobian", "hessian", "hvp", "check_grad"),
    ),
    "batching": ("Batching", ("vmap", "vectorize", "apply_along_axis", "map_over", "pipeline")),
    "dtypes": (
        "Dtypes",
        (
            "result_type",
            "promote_types",
            "can_cast",
            "isdtype",
            "iscomplexobj",
            "isrealobj",
            "finfo",
            "iinfo",
        ),
    ),
    "modules": ("Modules", tuple(f"nn.{name}" for name in tg.nn.__all__ if is_of_modules(getattr(tg.nn, name)))),
    "structures": ("Data and structures", ("data.batches", *(f"tree.{name}" for name in tg.tree.__all__))),
    "optimizers": ("Optimizers and solvers", tuple(f"optimize.{name}" for name in tg.optimize.__all__)),
    "integration": (
        "Differential equations and splines",
        (
            "integrate.odeint",
            *(f"interpolate.{name}" for name in tg.interpolate.__all__ if name not in ("PPoly", "BSpline")),
        ),
    ),
    "sparse": (
        "Sparse matrices",
        (
            *(f"sparse.{name}" for name in tg.sparse.__all__ if name.islower() and name != "linalg"),
            *(f"sparse.linalg.{name}" for name in tg.sparse.linalg.__all__ if name.islower()),
        ),
    ),
    "masked": ("Masked arrays", tuple(f"masked.{name}" for name in tg.masked.__all__ if name.islower())),
    "dims": ("Named axes", tuple(f"dims.{name}" for name in tg.dims.__all__ if name.islower())),
    "leaving": ("Leaving Python", ("save", "load", "export", "quantize_groups")),
    "looking": ("Looking inside", ("print", "to_text", "parse", "explain", "check", "bisect", "view", "created_at")),
}
"""By file: the title and the names of a page of functions."""
CLASSES = {
    "Variable": "A symbolic array",
    "Function": "A compiled function",
    "Shared": "A shared variable",
    "random.RandomStream": "Draws under NumPy's names",
    "interpolate.PPoly": "A piecewise polynomial",
    "interpolate.BSpline": "A spline by its coefficients",
    "sparse.SparseMatrix": "A sparse matrix",
    "dims.Array": "An array whose axes have names",
    "masked.MaskedArray": "An array of which some elements do not count",
}
"""Classes that have a page, member by member."""
OTHERS = (
    "Constant", "TensorType", "FrozenGraph", "Op", "GradientCheck", "Explanation", "Verdict", "Verdicts",
    "Bisection", "Mesh", "integrate.Steps",
)  # fmt: skip
INTRO = """# Variables, functions, gradients

The [functions of arrays](ops/index.md) have a page each. The rest, by subject:

"""
TREE = """
```{{toctree}}
:hidden:

{tree}
```
"""
OPERATORS = (
    ("x + y", "add"), ("x - y", "subtract"), ("x * y", "multiply"), ("x / y", "divide"), ("x // y", "floor_divide"),
    ("x % y", "remainder"), ("x ** y", "power"), ("x @ y", "matmul"), ("-x", "negative"), ("abs(x)", "absolute"),
    ("x == y", "equal"), ("x != y", "not_equal"), ("x < y", "less"), ("x <= y", "less_equal"), ("x > y", "greater"),
    ("x >= y", "greater_equal"), ("x & y", "bitwise_and"), ("x | y", "bitwise_or"), ("x ^ y", "bitwise_xor"),
    ("~x", "bitwise_invert"), ("x << y", "left_shift"), ("x >> y", "right_shift"), ("divmod(x, y)", "divmod"),
    ("round(x)", "round"),
)  # fmt: skip
AS = re.compile(r"As `(tg\.[\w.]+)`")
ATTRIBUTE = "member_descriptor"


def pages() -> dict[str, str]:
    """The index, a page for each part and each class, and one of the error classes."""
    texts = {f"reference/{name}.md": part(title, names) for name, (title, names) in PARTS.items()}
    texts |= {f"reference/{name.rpartition('.')[2]}.md": class_page(name) for name in CLASSES}
    texts["reference/classes.md"] = "\n".join(("# Further classes\n", *(class_entry(name) for name in OTHERS)))
    texts["reference/errors.md"] = f"# Error classes\n\n{errors()}"
    return {"functions.md": index(list(texts)), **texts}


def index(files: list[str]) -> str:
    """The page that lists the others."""
    rows = [
        (f"[{title}](reference/{name}.md)", " ".join(f"{{py:func}}`tg.{one}`" for one in names))
        for name, (title, names) in PARTS.items()
    ]
    rows += [(f"[`tg.{name}`](reference/{name.rpartition('.')[2]}.md)", text) for name, text in CLASSES.items()]
    rows += [("[Further classes](reference/classes.md)", ", ".join(f"`tg.{name}`" for name in OTHERS))]
    rows += [("Dtypes, constants and grids", " ".join(f"`tg.{name}`" for name in (*CONSTANTS, "mgrid", "ogrid")))]
    rows += [("[Error classes](reference/errors.md)", "each is a built-in class as well")]
    tree = "\n".join(name.removesuffix(".md") for name in files)
    return INTRO + table(("subject", "names"), rows) + TREE.format(tree=tree)


def part(title: str, names: tuple[str, ...]) -> str:
    """The page of a part."""
    return "\n".join((f"# {title}\n", *(entry("function", signature(named(n), f"tg.{n}"), body(n)) for n in names)))


def named(name: str) -> Any:
    """What a name of `tg` stands for; `tg.backend` is what plugins import as well, and called it is a function."""
    return backend if name == "backend" else operator.attrgetter(name)(tg)


def body(name: str) -> str:
    """The docstring of a name of `tg`."""
    return myst(inspect.getdoc(named(name)) or "")


def class_entry(name: str) -> str:
    """A class without its members."""
    return entry("class", f"tg.{name}", body(name))


def class_page(name: str) -> str:
    """The page of a class: each of its public members, a variable's operators too."""
    cls = named(name)
    parts = [f"# tg.{name}\n", f"{CLASSES[name]}.\n", *members(f"tg.{name}", cls)]
    if cls is tg.Variable:
        rows = [(f"`{written}`", f"{{py:func}}`tg.{fn}`", cell(about(f"tg.{fn}"))) for written, fn in OPERATORS]
        parts += ["## Operators\n", table(("written", "is", ""), rows)]
    if cls is tg.Shared:
        parts.append("It is a {py:class}`tg.Variable` as well, with all its members.\n")
    return "\n".join(parts)


def members(name: str, cls: type) -> list[str]:
    """A class, and its public methods, properties and attributes; of a variable's subclasses those of their own."""
    parts = [entry("class", name, myst(cls.__doc__ or ""))]
    inherited = () if cls is tg.Variable else tg.Variable.__mro__  # of which a subclass says that it has them
    owners = [owner for owner in cls.__mro__ if owner not in inherited]
    owned = {key: value for owner in reversed(owners) for key, value in vars(owner).items() if not key.startswith("_")}
    kinds = {"attribute": "## Attributes\n", "method": "## Methods\n"}
    for kind, title in kinds.items():
        entries = [member(f"{name}.{key}", value) for key, value in sorted(owned.items()) if kind_of(value) == kind]
        parts += [title, *filter(None, entries)] if any(entries) else []
    return parts


def kind_of(value: Any) -> str | None:
    """Whether something of a class is a method or an attribute; None for anything else."""
    if inspect.isfunction(value) or isinstance(value, staticmethod | classmethod):
        return "method"
    return "attribute" if isinstance(value, property) or type(value).__name__ == ATTRIBUTE else None


def member(name: str, value: Any) -> str:
    """The entry of a member; empty where it has no docstring."""
    text = inspect.getdoc(value) or ""
    if not text:
        return ""
    shown = myst(text)
    if same := AS.match(text):
        shown += f"\n{escaped(about(same[1]))} {{py:func}}`{same[1]}`\n"
    if kind_of(value) == "attribute":
        return entry("property", name, shown)
    call = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    return entry("method", signature(call, name, bound=not isinstance(value, staticmethod)), shown)


def about(address: str) -> str:
    """The first sentence about a function by its address."""
    fn = operator.attrgetter(address.removeprefix("tg."))(tg)
    return fn.doc if hasattr(fn, "loops") else sentence(fn)


def errors() -> str:
    """The error classes, with the built-in classes that catch them too."""
    classes = sorted((e for e in vars(tg.errors).values() if inspect.isclass(e) and issubclass(e, TgError)), key=str)
    rows = [
        (f"`tg.{e.__name__}`", ", ".join(f"`{base.__name__}`" for base in e.__bases__[1:]), escaped(sentence(e)))
        for e in classes
    ]
    return table(("class", "also a", "when"), rows)
