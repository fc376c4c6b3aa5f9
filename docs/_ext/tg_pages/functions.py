"""What `tg` offers beside the functions of arrays: variables, compiling, differentiation, looking inside, errors."""

from __future__ import annotations

import inspect
import operator
from typing import Any

import tg
from tg.errors import TgError
from tg.functions.backends import backend
from tg_pages.docstring import entry, escaped, myst, sentence, signature, table


def is_of_modules(value: Any) -> bool:
    """Whether something of `tg.nn` is a module, or a function of modules; the others have pages of their own."""
    return str(getattr(inspect.unwrap(value), "__module__", "")).startswith("tg.nn.")


PARTS = (
    ("Variables", ("scalar", "vector", "matrix", "tensor", "shared", "constant", "as_variable")),
    (
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
    ("Differentiation", ("grad", "value_and_grad", "vjp", "jvp", "jacobian", "hessian", "hvp", "check_grad")),
    ("Batching", ("vmap", "map_over")),
    ("Modules", tuple(f"nn.{name}" for name in tg.nn.__all__ if is_of_modules(getattr(tg.nn, name)))),
    ("Data", ("data.batches",)),
    ("Structures", tuple(f"tree.{name}" for name in tg.tree.__all__)),
    ("Optimizers", tuple(f"optimize.{name}" for name in tg.optimize.__all__)),
    ("Differential equations", ("integrate.odeint",)),
    (
        "Interpolation",
        tuple(f"interpolate.{name}" for name in tg.interpolate.__all__ if name not in ("PPoly", "BSpline")),
    ),
    (
        "Sparse matrices",
        (
            *(f"sparse.{name}" for name in tg.sparse.__all__ if name.islower() and name != "linalg"),
            *(f"sparse.linalg.{name}" for name in tg.sparse.linalg.__all__ if name.islower()),
        ),
    ),
    ("Leaving Python", ("save", "load", "export")),
    ("Looking inside", ("print", "to_text", "parse", "explain", "check", "bisect", "created_at")),
)
CLASSES = (
    "Variable",
    "Constant",
    "TensorType",
    "FrozenGraph",
    "Op",
    "GradientCheck",
    "Explanation",
    "Verdict",
    "Verdicts",
    "integrate.Steps",
)


INTRO = """# Variables, functions, gradients

The [functions of arrays](ops/index.md) have pages of their own.
"""


def page() -> str:
    """The page."""
    parts = [INTRO]
    for title, names in PARTS:
        parts += [f"## {title}\n", *(entry("function", signature(named(n), f"tg.{n}"), body(n)) for n in names)]
    parts += ["## A compiled function\n", *members("tg.Function", tg.Function)]
    parts += ["## A shared variable\n", *members("tg.Shared", tg.Shared)]
    parts += ["## Splines\n", *members("tg.interpolate.PPoly", tg.interpolate.PPoly)]
    parts += members("tg.interpolate.BSpline", tg.interpolate.BSpline)
    parts += ["## Matrices of tg.sparse\n", *members("tg.sparse.SparseMatrix", tg.sparse.SparseMatrix)]
    parts += ["## Classes\n", *(entry("class", f"tg.{name}", body(name)) for name in CLASSES)]
    return "\n".join([*parts, "## Error classes\n", errors()])


def named(name: str) -> Any:
    """What a name of `tg` stands for; `tg.backend` is what plugins import as well, and called it is a function."""
    return backend if name == "backend" else operator.attrgetter(name)(tg)


def body(name: str) -> str:
    """The docstring of a name of `tg`."""
    return myst(inspect.getdoc(named(name)) or "")


def members(name: str, cls: type) -> list[str]:
    """A class, and its public methods and properties that have a docstring."""
    found = [entry("class", name, myst(cls.__doc__ or ""))]
    for key, value in vars(cls).items():
        if key.startswith("_") or not inspect.getdoc(value):
            continue
        if inspect.isfunction(value):
            found.append(entry("method", signature(value, f"{name}.{key}", bound=True), myst(value.__doc__ or "")))
        elif isinstance(value, property):
            found.append(entry("property", f"{name}.{key}", myst(value.__doc__ or "")))
    return found


def errors() -> str:
    """The error classes, with the built-in classes that catch them too."""
    found = sorted((e for e in vars(tg.errors).values() if inspect.isclass(e) and issubclass(e, TgError)), key=str)
    rows = [
        (f"`tg.{e.__name__}`", ", ".join(f"`{base.__name__}`" for base in e.__bases__[1:]), escaped(sentence(e)))
        for e in found
    ]
    return table(("class", "also a", "when"), rows)
