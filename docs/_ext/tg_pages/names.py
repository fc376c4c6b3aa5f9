"""From another library: each public name of it, and the same in tg, from the tables that errors answer with."""

from __future__ import annotations

import importlib
from typing import Final, NamedTuple

import tg
from tg import words
from tg_pages.docstring import cell, table

FOLDER = "names"


class Library(NamedTuple):
    """A library whose names are looked up: its title, modules by the prefix that users write, the page of prose."""

    title: str
    modules: dict[str, str]
    prose: str


LIBRARIES: Final = {
    "numpy": Library(
        "NumPy's modules and SciPy",
        {"np.linalg": "numpy.linalg", "np.fft": "numpy.fft", "scipy.special": "scipy.special",
         "scipy.linalg": "scipy.linalg", "scipy.signal": "scipy.signal"},
        "[Names of NumPy](../numpy_names.md) has the main namespace, [differences from NumPy](../../numpy.md) what "
        "behaves otherwise.",
    ),
    "jax": Library(
        "JAX",
        {"jax": "jax", "jax.lax": "jax.lax", "jax.nn": "jax.nn", "jnp.linalg": "jax.numpy.linalg",
         "jax.random": "jax.random"},
        "[Names of NumPy](../numpy_names.md) has those of `jax.numpy`, [coming from JAX](../../jax.md) what behaves "
        "otherwise.",
    ),
    "pytorch": Library(
        "PyTorch",
        {"torch": "torch", "F": "torch.nn.functional", "torch.nn": "torch.nn", "torch.linalg": "torch.linalg",
         "torch.special": "torch.special", "torch.optim": "torch.optim"},
        "[In PyTorch programs](../../pytorch.md) and [moving models](../../migration.md) say how both work together.",
    ),
}  # fmt: skip
PLACES: Final = (
    "",
    "linalg",
    "fft",
    "nn",
    "special",
    "signal",
    "random",
    "optimize",
)  # of tg, where a name is looked for


OTHERWISE: Final = {"bool", "complex", "load", "print", "save", "split", "view"}  # mean something else there


def pages() -> dict[str, str]:
    """A page for each library that is installed where the pages are built."""
    return {f"{FOLDER}/{key}.md": page(library) for key, library in LIBRARIES.items()}


def page(library: Library) -> str:
    """The names of a library that are the same, those that are others, and those that are not there."""
    other, later = dict(words.elsewhere()), dict(words.later())
    parts = [f"# Names: from {library.title}\n", _introduction(library)]
    for prefix, name in library.modules.items():
        public = _public(name)
        same = {n: path for n in public if (path := _own(prefix, n))}
        rows = [(f"`{prefix}.{n}`", cell(other[n])) for n in public if n in other and n not in same]
        rows += [(f"`{prefix}.{n}`", f"not yet: {cell(later[n])}") for n in public if n in later and n not in same]
        parts.append(f"## {prefix}\n")
        if same:
            parts.append("The same: " + ", ".join(_linked(n, path) for n, path in same.items()) + ".\n")
        if rows:
            parts.append(table((library.title, "in tg"), sorted(rows)))
    return "\n".join(parts)


def _introduction(library: Library) -> str:
    return (
        f"Functions of {library.title} that tg has under their own name, and those that have another one, module by "
        "module. Arguments are NumPy's and SciPy's, in `tg.nn` PyTorch's, in `tg.random` a key first. "
        f"A name that is missing here is one that tg says nothing about. {library.prose} "
        "[Is there …?](../words.md) has the names of all libraries in one list.\n"
    )


def _public(module: str) -> list[str]:
    """The functions and classes of a module, without modules, errors and dtypes."""
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None) or dir(loaded)
    values = {name: getattr(loaded, name, None) for name in names if not name.startswith("_")}
    is_error = {name for name, v in values.items() if isinstance(v, type) and issubclass(v, BaseException)}
    return sorted(name for name, v in values.items() if callable(v) and name not in is_error)


def _own(prefix: str, name: str) -> str | None:
    """The path in tg of a function of the same name: in the place of the same name if there is one, else anywhere."""
    if name in OTHERWISE and (name != "split" or prefix == "torch"):
        return None
    last = prefix.rpartition(".")[2]
    for place in sorted(PLACES, key=lambda place: place != {"F": "nn"}.get(last, last)):
        value = getattr(getattr(tg, place) if place else tg, name, None)
        if callable(value) and not isinstance(value, type):
            return f"tg.{place}.{name}" if place else f"tg.{name}"
    return None


def _linked(name: str, path: str) -> str:
    return f"`{name}`" if path == f"tg.{name}" else f"`{path}`"
