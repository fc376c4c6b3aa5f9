"""tg compiles array programs: write an expression once, differentiate it, run it on the backend that is installed.

Names are loaded when they are first used: `import tg` brings NumPy and little more.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from types import FunctionType
from typing import Any

if sys.platform == "win32":  # locks, forks and the owners of files are those of POSIX
    raise ImportError("tg: found Windows, needed Linux or macOS\n  hint: the Windows Subsystem for Linux is Linux")

from tg.graph.operators import bind
from tg.types.names import CONSTANTS

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

_HOMES = {
    "config": "tg.configuration",
    "constant": "tg.variables.conversion",
    "as_variable": "tg.variables.conversion",
    "mgrid": "tg.ops.grids",
    "ogrid": "tg.ops.grids",
    "isdtype": "tg.variables.kinds",
    "result_type": "tg.variables.kinds",
    "promote_types": "tg.variables.kinds",
    "can_cast": "tg.variables.kinds",
    "finfo": "tg.variables.kinds",
    "iinfo": "tg.variables.kinds",
    "iscomplexobj": "tg.variables.kinds",
    "isrealobj": "tg.variables.kinds",
    "scalar": "tg.variables.constructors",
    "vector": "tg.variables.constructors",
    "matrix": "tg.variables.constructors",
    "tensor": "tg.variables.constructors",
    "dim": "tg.variables.constructors",
    "Variable": "tg.graph.nodes",
    "Constant": "tg.graph.nodes",
    "FrozenGraph": "tg.graph.frozen",
    "Op": "tg.graph.op",
    "TensorType": "tg.types.tensor_type",
    "Mesh": "tg.types.mesh",
    "grad": "tg.gradient.api",
    "value_and_grad": "tg.gradient.api",
    "vjp": "tg.gradient.api",
    "jvp": "tg.gradient.api",
    "jacobian": "tg.gradient.matrices",
    "hessian": "tg.gradient.matrices",
    "hvp": "tg.gradient.matrices",
    "vmap": "tg.gradient.vmap",
    "gradient": "tg.gradient",
    "apply_along_axis": "tg.gradient.mapped",
    "vectorize": "tg.gradient.mapped",
    "wrap": "tg.ops.wrapped",
    "debug_print": "tg.ops.wrapped",
    "shared": "tg.functions.shared",
    "Shared": "tg.functions.shared",
    "with_updates": "tg.functions.updating",
    "function": "tg.functions.make",
    "Function": "tg.functions.compiled",
    "jit": "tg.functions.jit",
    "map_over": "tg.functions.map_over",
    "pipeline": "tg.functions.pipeline",
    "check_grad": "tg.functions.check_grad",
    "GradientCheck": "tg.functions.check_grad",
    "export": "tg.exports.write",
    "save": "tg.files.saving",
    "load": "tg.files.loading",
    "evaluate": "tg.functions.make",
    "explain": "tg.functions.explain",
    "view": "tg.viewer.view",
    "check": "tg.functions.check",
    "bisect": "tg.functions.bisect",
    "Bisection": "tg.functions.bisect",
    "Verdict": "tg.functions.verdict",
    "Verdicts": "tg.functions.verdict",
    "Explanation": "tg.functions.explanation",
    "special": "tg.special",
    "quantize_groups": "tg.quantization.groups",
    "quantized": "tg.quantization.transform",
    "backend": "tg.backend",
    "linalg": "tg.linalg",
    "fft": "tg.fft",
    "signal": "tg.signal",
    "nn": "tg.nn",
    "integrate": "tg.integrate",
    "interpolate": "tg.interpolate",
    "optimize": "tg.optimize",
    "eager": "tg.eager",
    "sparse": "tg.sparse",
    "masked": "tg.masked",
    "dims": "tg.dims",
    "tree": "tg.tree",
    "data": "tg.data",
    "random": "tg.random",
    "distributions": "tg.distributions",
    "backends": "tg.functions.backends",
    "release_memory": "tg.functions.backends",
    "print": "tg.functions.show",
    "created_at": "tg.graph.loc",
    "to_text": "tg.functions.show",
    "parse": "tg.functions.show",
}

_ERRORS = (
    "TgError", "ShapeError", "AxisError", "DtypeError", "InputError", "BoundsError", "DomainError", "LinAlgError",
    "AssertionFailed", "RangeError", "SymbolicError", "LengthError", "NotDifferentiable", "GradientError",
    "RewriteError", "TextError", "NoRuleError", "BackendUnavailable", "PluginError", "OptionError", "DebugError",
    "NonFiniteError", "LimitError", "FileError",
)  # fmt: skip

_HOMES.update(dict.fromkeys(_ERRORS, "tg.errors"))
_HOMES.update(dict.fromkeys(CONSTANTS, "tg.types.names"))

_SEARCHED = (
    "tg.nn",
    "tg.optimize",
    "tg.integrate",
    "tg.interpolate",
    "tg.signal",
    "tg.linalg",
    "tg.fft",
    "tg.random",
    "tg.sparse",
    "tg.masked",
    "tg.tree",
    "tg.data",
)  # for names that tg itself does not have


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        module = importlib.import_module(home)
        value = module if home == f"{__name__}.{name}" else _told(getattr(module, name))
        globals()[name] = value
        return value
    if name == "__all__":
        return [public for public in __dir__() if not public.startswith("_") and not hasattr(builtins, public)]
    if name.startswith("__"):
        raise AttributeError(name)
    from tg.ops.homes import HOMES

    if name in HOMES:
        home, attribute = HOMES[name]
        value = globals()[name] = _told(getattr(importlib.import_module(home), attribute))
        return value
    try:
        return importlib.import_module(f"tg.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"tg.{name}":
            raise
    from tg.words import unknown

    modules = {home: importlib.import_module(home).__all__ for home in _SEARCHED}
    raise AttributeError(unknown(name, __dir__(), modules), name=name)


def __array_namespace_info__() -> Any:
    """Answers of the namespace about its dtypes, devices and capabilities, as the array API standard asks for them."""
    from tg.variables.kinds import ArrayNamespaceInfo

    return ArrayNamespaceInfo()


def _told(value: Any) -> Any:
    """A public value; a function as one that tells of keywords which it does not take."""
    from tg.hints import hinted
    from tg.keywords import explained

    return explained(value, __name__) if type(value) is FunctionType else hinted(value)


def __dir__() -> list[str]:
    from tg.ops.catalog import NAMES

    return sorted({*_HOMES, *NAMES, *(name for name in globals() if name.startswith("__"))})


bind(sys.modules[__name__])
