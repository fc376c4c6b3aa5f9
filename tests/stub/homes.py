"""The table `tg/ops/homes.py`: the module of each function of the flat namespace, written from the catalog."""

from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tg.ops import catalog
from tg.ops.elementwise.record import ElementwiseFunction

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE: Final = Path(catalog.__file__).with_name("homes.py")
WIDTH: Final = 120 - len('        " "')

HEAD: Final = '''"""The module of each function of `tg`: a program imports the families that it uses, and no others.

Written by `make stub` from `tg.ops.catalog`; a test compares the two.
"""

from __future__ import annotations

from typing import Final

MODULES: Final = {  # module -> its names, and as name=attribute those that are called otherwise there
'''

TAIL: Final = '''}

HOMES: Final = {
    entry.partition("=")[0]: (module, entry.rpartition("=")[2])
    for module, entries in MODULES.items()
    for entry in entries.split()
}
"""Name in `tg` -> module and attribute."""
'''


def home(value: Any) -> tuple[str, str]:
    """The module that defines a function of the catalog, and the function's name there."""
    if isinstance(value, ElementwiseFunction):
        paths = (f.path for f in catalog.FAMILIES if value in f.elementwise or value in f.internal)
        module = f"tg.ops.{next(paths).replace('/', '.')}"
    else:
        module = inspect.unwrap(value).__module__
    assert getattr(sys.modules[module], value.__name__) is value, value
    return module, value.__name__


def homes() -> dict[str, tuple[str, str]]:
    """The module and the attribute of every name, from the functions themselves."""
    return {name: home(value) for name, value in {**catalog.NAMES, **catalog.INTERNAL}.items()}


def table() -> str:
    """The text of the table."""
    entries: dict[str, list[str]] = {}
    for name, (module, attribute) in homes().items():
        entries.setdefault(module, []).append(name if name == attribute else f"{name}={attribute}")
    return HEAD + "".join(line for module in sorted(entries) for line in rows(module, entries[module])) + TAIL


def rows(module: str, names: list[str]) -> Iterator[str]:
    """The lines of one module, as the formatter leaves them."""
    text = " ".join(sorted(names))
    line = f'    "{module}": "{text}",\n'
    if len(line) <= 121:
        yield line
        return
    yield f'    "{module}": (\n'
    first, *rest = textwrap.wrap(text, WIDTH)
    yield f'        "{first}"\n' + "".join(f'        " {more}"\n' for more in rest)
    yield "    ),\n"
