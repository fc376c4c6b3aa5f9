"""Advice on objects of other libraries that are no arrays of numbers as they are: tensors elsewhere, frames, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.variables.structure import hint_of

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS: Final = "numbers, lists of numbers and NumPy arrays of them are arrays"
ROWS: Final = "rows of one length make an array"
MASKED: Final = "value.filled(…) is an ordinary one; tg.masked.array(value) keeps the mask"


def array_hint(value: Any) -> str:
    """Advice on a value that NumPy makes no array of."""
    return advice(value) or ROWS


def number_hint(value: Any) -> str:
    """Advice on a value that NumPy makes an array of that holds no numbers."""
    return advice(value) or hint_of(value, NUMBERS)


def advice(value: Any) -> str | None:
    """Advice on an object of another library, which says what of it is an array; None of any other value."""
    return next((hint for applies, hint in ADVICE if applies(value)), None)


def _is(name: str) -> Callable[[Any], bool]:
    return lambda value: getattr(value, name, False) is True


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda value: not isinstance(value, type) and all(hasattr(type(value), name) for name in names)


def _has_method_that_is_true(name: str) -> Callable[[Any], bool]:
    def applies(value: Any) -> bool:
        method = getattr(value, name, None)
        return type(value).__module__.partition(".")[0] == "torch" and callable(method) and method() is True

    return applies


def _holds_times(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M")


def _holds_keys(value: Any) -> bool:
    return str(getattr(value, "dtype", "")).startswith("key<")


def _holds_missing_numbers(value: Any) -> bool:
    """Whether a frame or a series of pandas has numbers and truth values only, of several dtypes or missing."""
    if not hasattr(value, "to_numpy") or not hasattr(value, "isna"):
        return False
    dtypes = value.dtypes if value.ndim == 2 else [value.dtype]
    return all(getattr(dtype, "kind", "") in ("b", "i", "u", "f") for dtype in dtypes)


# Of the first that applies: whether it does, and the advice
ADVICE: Final[tuple[tuple[Callable[[Any], bool], str], ...]] = (
    (_is("requires_grad"), "value.detach() is a tensor that NumPy can read"),
    (_is("is_meta"), "a tensor on the device 'meta' has no values: torch.zeros(value.shape) has some"),
    (_is("is_sparse"), "value.to_dense() is a tensor that NumPy can read; tg.sparse.coo takes indices and values"),
    (_is("is_cuda"), "value.cpu() is a tensor that NumPy can read"),
    (_is("is_mps"), "value.cpu() is a tensor that NumPy can read"),
    (_has_method_that_is_true("is_conj"), "value.resolve_conj() is a tensor that NumPy can read"),
    (_has_method_that_is_true("is_neg"), "value.resolve_neg() is a tensor that NumPy can read"),
    (_is("is_quantized"), "value.dequantize() is a tensor that NumPy can read"),
    (
        lambda value: getattr(value, "aval", None) is not None and hasattr(value, "_trace"),
        "a program of JAX, which is being traced here, takes f.traceable() for f",
    ),
    (_holds_keys, "jax.random.key_data(value) has the numbers of a key"),
    (_has("tocsr", "toarray"), "value.toarray() is dense; tg.sparse.csr takes value.data, value.indices, value.indptr"),
    (_has("data_vars", "to_dataarray"), "value['name'] is an array; value.to_dataarray() has all along one axis"),
    (_has("collect", "collect_schema"), "value.collect() is a frame"),
    (_holds_missing_numbers, "value.to_numpy('float64', na_value=np.nan) is an array of floats"),
    (_has("select_dtypes"), "value.select_dtypes('number') has the columns of numbers"),
    (
        lambda value: hasattr(value, "cat") and hasattr(value.cat, "codes"),
        "value.cat.codes has the categories' numbers",
    ),
    (_holds_times, "(value - value[0]) / np.timedelta64(1, 's') has the seconds since the first"),
)
