"""Machine code: object files made of text in LLVM's language, and engines that have some of them in memory.

An engine has what one program consists of, and goes with it.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import weakref
from itertools import starmap
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import llvmlite.binding as llvm

from tg.backend import Claim, cover, exclusive
from tg_numba.assembly import Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

COMPILING: Final = Claim(frozenset(["tg-numba"]), delays_forks=True)  # of everything that compiles
CALLER: Final = """
define i64 @"{caller}"(ptr %given) nounwind {{
{places}
  %code = call i64 @{name}({given})
  ret i64 %code
}}
"""
FOREIGN: Final = "jitted."  # begins the symbols of functions that are no part of what is compiled here
LEVEL: Final = 2  # of the code generator; passes before it gain nothing where vectors are written as such
MODULE: Final = 600_000  # characters of loops in a module
GRAPH_LEVEL: Final = 1  # of the functions of graphs: without loops, 2 makes the same code in twice the time


class Written(NamedTuple):
    """A loop as text: its function is called `loop`."""

    module: Module
    definition: str

    @property
    def key(self) -> str:
        """Key that equal loops share."""
        return self.module.text() + self.definition

    @property
    def symbol(self) -> str:
        """The name of its function among others."""
        return f"tg.loop.{hashlib.blake2b(self.key.encode(), digest_size=16).hexdigest()}"

    def shown(self, name: str) -> str:
        """The loop under a name."""
        return self.definition.replace("@loop(", f"@{name}(", 1)


@final
class Code:
    """An object file, the names that it has functions under, and those of what it needs from elsewhere."""

    __slots__ = ("__weakref__", "data", "has", "needs")

    def __init__(self, data: bytes, has: frozenset[str], needs: frozenset[str]) -> None:
        self.data, self.has, self.needs = data, has, needs


class Bundle(NamedTuple):
    """The object files of a program, what its functions are called in them, and what they all need from elsewhere."""

    objects: tuple[bytes, ...]
    names: Mapping[str, str]
    needs: tuple[str, ...]


def bundle(codes: Iterable[Code], names: Mapping[str, str]) -> Bundle:
    """Object files as one bundle."""
    codes = tuple(codes)
    needs = frozenset[str]().union(*(code.needs for code in codes)).difference(*(code.has for code in codes))
    return Bundle(tuple(code.data for code in codes), names, tuple(sorted(needs)))


@final
class Loaded:
    """Machine code in memory: addresses in it are good as long as this object lives, unless it is to stay."""

    __slots__ = ("__weakref__", "_engine", "_names")

    def __init__(self, engine: Any, names: Mapping[str, str]) -> None:
        self._engine, self._names = engine, names

    def address(self, name: str) -> int:
        """The address of a function."""
        value: int = self._engine.get_function_address(self._names[name])
        return value

    def stay(self) -> None:
        """Leave the code in memory for longer than any object of Python lives; addresses are to be taken before."""
        self._engine.detach()

    def caller(self, name: str, count: int) -> Callable[..., int]:
        """A function of so many arrays as Python calls it, without a look at what they are and without the GIL."""
        function = _CALLED(self._engine.get_function_address(_caller_name(self._names[name])))
        return functools.partial(self._call, function, ctypes.py_object * count)

    def _call(self, function: Callable[..., int], pointers: Callable[..., Any], *arrays: Any) -> int:
        return function(pointers(*arrays))


LOCK: Final = getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)  # llvmlite promises no name for it
if LOCK is not None:
    cover(LOCK)  # whoever uses LLVM holds it: a child that inherits it held can never do so
_CALLED: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
_known: Final[weakref.WeakValueDictionary[str, Code]] = weakref.WeakValueDictionary()


@exclusive(COMPILING)
def compiled(loops: Sequence[Written]) -> list[Code]:
    """The object files that loops are in; one that the process has already is not made again."""
    keys = [loop.key for loop in loops]
    codes = [_known.get(key) for key in keys]
    missing = {key: loop for key, loop, code in zip(keys, loops, codes, strict=True) if code is None}
    new_codes: dict[str, Code] = {}
    from tg_native.show.patience import Patience

    with Patience(f"LLVM compiles {len(missing):,} loops") as patience:
        for group in _groups(missing):
            new_codes.update(dict.fromkeys(group, _code_of([missing[key] for key in group])))
            patience.tick()
    _known.update(new_codes)
    return list(dict.fromkeys(code or new_codes[key] for key, code in zip(keys, codes, strict=True)))


def _groups(loops: Mapping[str, Written]) -> Iterator[list[str]]:
    """The loops that become one module: LLVM cannot be interrupted in one, and takes half a second for so much.

    A loop that calls a function of somebody else is one by itself: programs that have the others do not have that.
    """
    group, length = list[str](), 0
    for key, loop in loops.items():
        if any(name.startswith(FOREIGN) for name in loop.module.declared):
            yield [key]
            continue
        group.append(key)
        length += len(loop.definition)
        if length > MODULE:
            yield group
            group, length = [], 0
    if group:
        yield group


def _code_of(loops: Sequence[Written]) -> Code:
    whole = Module()
    for loop in loops:
        whole.include(loop.module)
        whole.define(loop.symbol, loop.definition.replace("@loop(", f"@{loop.symbol}(", 1))
    return assembled(whole.text())


def assembled(text: str, level: int = LEVEL, *, has_steps: bool = False) -> Code:
    """The object file that a text becomes.

    Args:
        has_steps: whether loops over steps are in it: what goes from step to step is to stay in registers.
    """
    module, machine = llvm.parse_assembly(text), _machine(level)
    if has_steps:
        _keep_in_registers(module, machine)
    return code_of_module(module, machine.emit_object(module))


def _keep_in_registers(module: Any, machine: Any) -> None:
    """Put what is called in a step into the loop, and places in memory that only the function knows into registers.

    The text has each step as a call, with places in memory for its results; nothing else in it gains by passes. Global
    value numbering (`add_new_gvn_pass`) is left out: it ends the process where its own iteration does not settle, and
    benchmarks/run.py --only loops takes the same time without it.
    """
    module.verify()  # a wrong text is an error; passes over it would end the process
    passes = llvm.create_new_module_pass_manager()
    for add in (
        passes.add_always_inliner_pass,
        passes.add_sroa_pass,
        passes.add_instruction_combine_pass,
        passes.add_simplify_cfg_pass,
    ):
        add()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))


def code_of_module(module: Any, data: bytes) -> Code:
    """The object file that a module has become."""
    has, needs = set[str](), set[str]()
    for one in (*module.functions, *module.global_variables):
        (needs if one.is_declaration else has).add(one.name)
    return Code(data, frozenset(has), frozenset(name for name in needs if not name.startswith("llvm.")))


def callers(counts: Mapping[str, int]) -> str:
    """Functions that call others with the arrays that a table has: the text of what follows these."""
    return "\n".join(starmap(_caller, counts.items()))


def _caller(name: str, count: int) -> str:
    places = [f"  %p{k} = getelementptr ptr, ptr %given, i64 {k}\n  %a{k} = load ptr, ptr %p{k}" for k in range(count)]
    return CALLER.format(
        name=name,
        caller=_caller_name(name),
        places="\n".join(places),
        given=", ".join(f"ptr %a{k}" for k in range(count)),
    )


def declared(names: Iterable[str]) -> list[str]:
    """Declarations of things of these names that are elsewhere."""
    return [f'@"{name}" = external global i8' for name in names]


def _caller_name(name: str) -> str:
    return f"tg.call.{name}"


class MissingError(Exception):
    """Neither the process nor its libraries have what object files need: LLVM would end the process."""


@exclusive(COMPILING)
def loaded(bundle: Bundle, addresses: Mapping[str, int]) -> Loaded:
    """Object files in memory.

    Args:
        addresses: of what they need and no library has under its name.

    Raises:
        MissingError: they need more than that.
    """
    module = llvm.parse_assembly("\n".join(declared(addresses)))
    engine = llvm.create_mcjit_compiler(module, _machine())  # from here on the symbols of the process are found
    absent = [name for name in bundle.needs if name not in addresses and not llvm.address_of_symbol(name)]
    if absent:
        raise MissingError(", ".join(absent))
    for name, address in addresses.items():
        engine.add_global_mapping(module.get_global_variable(name), address)
    first, *others = bundle.objects
    engine.set_object_cache(getbuffer_func=lambda module: first)  # as if it were what the names become
    for data in others:
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return Loaded(engine, bundle.names)


def _machine(level: int = LEVEL) -> Any:
    target, cpu, features = _host()
    return target.create_target_machine(cpu=cpu, features=features, opt=level, jit=True, codemodel="jitdefault")


@functools.cache
def _host() -> tuple[Any, str, str]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
