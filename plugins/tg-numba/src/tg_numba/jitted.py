"""Functions of `numba.njit` as rules: for functions of single elements, and for ops on whole arrays.

A function is compiled by Numba, with its options, for the dtypes and ranks that an op has; `numba.cfunc` gives it an
address with the conventions of C, by which loops and the functions of graphs call it. Nothing of Numba is used here but
its public names.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import itertools
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg import PluginError
from tg.backend import exclusive, is_complex, message
from tg_native.graphs.failure import Failure
from tg_native.graphs.foreign import Foreign, in_memory
from tg_native.kernels.dtypes import WORDS, is_half, kind_of, working
from tg_native.kernels.half import narrowed, widened
from tg_native.kernels.lanes import Lanes, Pair
from tg_native.plan.values import Scalar
from tg_numba.assembly import ITEMS
from tg_numba.body import PURE, body_of, lane_by_lane
from tg_numba.engine import COMPILING, FOREIGN
from tg_numba.identity import UnknownError, digest_of
from tg_numba.operands import type_of
from tg_numba.site import Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.backend import Op
    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array, Value

RAISES: Final = frozenset(("RAISE_VARARGS", "RERAISE"))
_counter: Final = itertools.count()


class Entry(NamedTuple):
    """A function that has been compiled: its symbol, where it is, and whether that is its symbol in other processes."""

    symbol: str
    address: int
    is_known: bool
    owner: object


_entries: Final[dict[str, Entry]] = {}  # of this process, which never forgets what Numba has compiled


def entries_of(names: Iterable[str]) -> list[Entry]:
    """The functions that a module has declared."""
    return [_entries[name] for name in names if name.startswith(FOREIGN)]


@final
class Jitted(Foreign):
    """A rule: a function of `numba.njit`.

    For a function of single elements it takes and gives numbers. For another op it takes what the op does, numbers for
    operands without axes and arrays in C order for others, which it must not write into; and it gives a number, a new
    array, or a tuple of these, of the dtypes and shapes that the op's `infer` says.
    """

    def __init__(self, function: Any) -> None:
        if not callable(getattr(function, "py_func", None)) or not hasattr(function, "targetoptions"):
            raise PluginError(message(f"jitted: found {function!r}, needed a function of numba.njit"))
        name = function.py_func.__name__
        super().__init__(name, f"jitted {name}", f"Jitted({name})")
        self.function = function
        self._known: dict[object, Entry] = {}

    def __call__(self, op: Op, operands: Sequence[Elements] | Site, result: str = "") -> Any:
        """The result in lanes, or the values of the results."""
        count = len(operands.inputs if isinstance(operands, Site) else operands)
        try:
            inspect.signature(self.function.py_func).bind(*range(count))
        except TypeError as error:
            text = f"called with {count} operands, those of {op.name}: {error}"
            raise self.mistake(text.replace(" 1 operands", " 1 operand")) from None
        return self._of_arrays(op, operands) if isinstance(operands, Site) else self._of_elements(op, operands, result)

    # --- single elements ---------------------------------------------------------------------------------------------

    def _of_elements(self, op: Op, operands: Sequence[Elements], result: str) -> Any:
        if any(is_complex(d) for d in (*(x.dtype for x in operands), result)):
            return NotImplemented  # which C passes as each platform likes
        wide = [widened(x) if is_half(x.dtype) else x for x in operands if not isinstance(x, Pair)]
        entry = self._entry_of_elements(op, tuple(x.dtype for x in wide), working(result))
        body, dtype = body_of(wide[0]), working(result)
        body.module.declare(entry.symbol, ITEMS[dtype], [ITEMS[x.dtype] for x in wide], PURE)
        symbol = entry.symbol
        if body.lanes:
            symbol = f"tg.lanes.{body.lanes}.{entry.symbol}"
            items = [ITEMS[x.dtype] for x in wide]
            body.module.define(symbol, lane_by_lane(symbol, entry.symbol, body.lanes, items, ITEMS[dtype]))
        arguments = ", ".join(f"{kind} {text}" for kind, text in (x.operand for x in wide))
        value = Lanes(body, dtype, body.find(f"call {body.kind(dtype)} @{symbol}({arguments})"))
        return narrowed(value, result) if is_half(result) else value

    @exclusive(COMPILING)
    def _entry_of_elements(self, op: Op, dtypes: tuple[str, ...], result: str) -> Entry:
        key = ("elements", dtypes, result)
        if key not in self._known:
            if _raises(self.function.py_func):
                text = "it raises, needed a function of single elements that does not"
                raise self.mistake(text, "a check of the op raises, on every backend")
            kinds = [_number(dtype) for dtype in dtypes]
            (return_type,) = self._given(self._unchecked, kinds, op, 1)
            if not _fits(return_type, result):
                raise self.other_result(op, return_type, f"{result}[]")
            names = ", ".join(f"x{k}" for k in range(len(dtypes)))
            text = f"def call({names}):\n    return function({names})\n"
            self._known[key] = self._compiled(key, text, self._unchecked, _number(result), kinds)
        return self._known[key]

    @cached_property
    def _unchecked(self) -> Any:
        """The function with divisions as NumPy has them: there is nobody whom one element could tell of an error."""
        import numba

        options = {k: v for k, v in self.function.targetoptions.items() if k not in ("nopython", "error_model")}
        return numba.njit(**options, error_model="numpy")(self.function.py_func)

    # --- whole arrays ------------------------------------------------------------------------------------------------

    def _of_arrays(self, op: Op, site: Site) -> Any:
        ranks = [(v.dtype, 0 if isinstance(v, Scalar) else v.ndim) for v in site.inputs]
        results = [(t.dtype, t.ndim) for t in site.types]
        if any(is_half(dtype) for dtype, _ in (*ranks, *results)):
            return NotImplemented
        if any(is_complex(dtype) and not rank for dtype, rank in ranks):
            return NotImplemented
        entry = self._entry_of_arrays(op, tuple(ranks), tuple(results))

        def call(places: Sequence[Array]) -> None:
            body, arguments = site.body, [text for v in (*site.inputs, *places) for text in _passed(v, site)]
            body.module.declare(entry.symbol, "i64", [text.split()[0] for text in arguments], "nounwind")
            code = body.made(f"call i64 @{entry.symbol}({', '.join(arguments)})")
            site.function.leave_unless(body.made(f"icmp eq i64 {code}, 0"), code)

        return in_memory(site, call)

    @exclusive(COMPILING)
    def _entry_of_arrays(
        self, op: Op, operands: tuple[tuple[str, int], ...], results: tuple[tuple[str, int], ...]
    ) -> Entry:
        key = ("arrays", operands, results)
        if key not in self._known:
            from numba import types

            kinds = [types.Array(_number(dtype), rank, "C") if rank else _number(dtype) for dtype, rank in operands]
            return_types = self._given(self.function, kinds, op, len(results))
            for return_type, (dtype, rank) in zip(return_types, results, strict=True):
                right = (
                    _fits(getattr(return_type, "dtype", return_type), dtype) and getattr(return_type, "ndim", 0) == rank
                )
                if not right or (rank and return_type.dtype != _number(dtype)):
                    raise self.other_result(op, return_type, f"{dtype}[{', '.join('?' * rank)}]")
            text, arguments = _caller(operands, results)
            self._known[key] = self._compiled(key, text, self.function, types.int64, arguments)
        return self._known[key]

    # --- Numba -------------------------------------------------------------------------------------------------------

    def _given(self, function: Any, kinds: Sequence[Any], op: Op, count: int) -> list[Any]:
        """The types of what the function gives for operands of some types."""
        try:
            function.compile(tuple(kinds))
        except Exception as error:
            told = next((line for line in str(error).split("\n")[1:] if line.strip()), str(error)).strip()
            operands = ", ".join(map(str, kinds))
            raise self.mistake(f"Numba does not compile it for {op.name} of {operands}: {told}") from error
        (return_type,) = (s.return_type for s in function.nopython_signatures if tuple(s.args) == tuple(kinds))
        several = [*return_type] if count > 1 and hasattr(return_type, "__iter__") else [return_type]
        if len(several) != count:
            raise self.other_result(op, return_type, f"{count} results")
        return several

    def _compiled(self, key: object, text: str, function: Any, result: Any, kinds: Sequence[Any]) -> Entry:
        """The address of a function that calls the author's."""
        import numba

        symbol, is_known = self._symbol(key)
        scope = {"function": function, "carray": numba.carray}
        exec(compile(text, "<tg-numba call>", "exec"), scope)
        callback = numba.cfunc(result(*kinds), nogil=True, error_model="numpy")(scope["call"])
        entry = _entries[symbol] = Entry(symbol, callback.address, is_known, callback)
        return entry

    def _symbol(self, key: object) -> tuple[str, bool]:
        """The name that the function has in code: one that says all it is made of, where that can be told."""
        try:
            digest = digest_of({self.name: self.function.py_func})
        except UnknownError:
            return f"{FOREIGN}{next(_counter)}", False
        told = repr((digest, sorted(self.function.targetoptions.items()), key))
        return FOREIGN + hashlib.blake2b(told.encode(), digest_size=16).hexdigest(), True


def _number(dtype: str) -> Any:
    """Numba's type of a number."""
    import numba

    return getattr(numba.types, "boolean" if dtype == "bool" else dtype)


def _fits(number: Any, dtype: str) -> bool:
    """Whether a number of Numba's type may become one of a dtype: as C converts, but within its kind."""
    if str(number) not in WORDS:
        return False
    kind, needed = ("integer" if k in ("signed", "unsigned") else k for k in (kind_of(str(number)), kind_of(dtype)))
    return kind == needed or (kind, needed) == ("integer", "floating")


def _raises(function: Any) -> bool:
    return any(step.opname in RAISES for step in dis.get_instructions(function))


def _caller(operands: Sequence[tuple[str, int]], results: Sequence[tuple[str, int]]) -> tuple[str, list[Any]]:
    """The text of a function of pointers, lengths and numbers that calls one of arrays, and the types of its arguments.

    It gives 0, or the code of a failure.
    """
    from numba import types

    names, kinds, arguments = list[str](), list[Any](), list[str]()
    views = []
    for k, (dtype, rank) in enumerate((*operands, *results)):
        is_result = k >= len(operands)
        names.append(f"p{k}")
        kinds.append(types.CPointer(_number(dtype)) if rank or is_result else _number(dtype))
        lengths = [f"n{k}_{axis}" for axis in range(rank)]
        names += lengths
        kinds += [types.int64] * rank
        shape = f"({', '.join(lengths or ['1'])},)"
        if is_result:
            views.append((f"carray(p{k}, {shape})", rank))
        else:
            arguments.append(f"carray(p{k}, {shape})" if rank else f"p{k}")
    lines = [f"def call({', '.join(names)}):", "    try:", f"        found = function({', '.join(arguments)})"]
    lines += ["    except Exception:", f"        return {int(Failure.RAISED)}"]
    for j, (view, rank) in enumerate(views):
        value = f"found[{j}]" if len(views) > 1 else "found"
        lines.append(f"    y{j} = {view}")
        if rank:
            lines += [f"    if {value}.shape != y{j}.shape:", f"        return {int(Failure.UNEQUAL)}"]
        lines.append(f"    y{j}[{', '.join(':' * rank) or '0'}] = {value}")
    return "\n".join((*lines, "    return 0", "")), kinds


def _passed(value: Value, site: Site) -> list[str]:
    """The arguments for an operand or a result."""
    if isinstance(value, Scalar):
        return [f"{type_of(value.dtype)} {value.text}"]
    array: Any = site.contiguous(value)
    return [f"ptr {array.pointer}", *(f"i64 {site.length(n)}" for n in array.shape)]
