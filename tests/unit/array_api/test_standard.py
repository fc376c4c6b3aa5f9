"""The flat namespace has every name of the array API standard, and takes its arguments as the standard has them."""

from __future__ import annotations

import inspect
import operator
from types import SimpleNamespace

import numpy as np
import pytest

import tg
from tg.types.dtypes import numpy_dtype
from tg.types.names import CONSTANTS

VERSION = "2024.12"
# of each function: its name, the number of arguments that are given by position (* for any), those that may be given
# either way, those that are given by name
FUNCTIONS = """
arange 1 stop,step dtype,device
asarray 1 - dtype,device,copy
empty 0 shape dtype,device
empty_like 1 - dtype,device
eye 2 - k,dtype,device
from_dlpack 1 - device,copy
full 0 shape,fill_value dtype,device
full_like 1 fill_value dtype,device
linspace 2 num dtype,device,endpoint
meshgrid 0* - indexing
ones 0 shape dtype,device
ones_like 1 - dtype,device
tril 1 - k
triu 1 - k
zeros 0 shape dtype,device
zeros_like 1 - dtype,device
astype 2 - copy,device
can_cast 2 - -
finfo 1 - -
iinfo 1 - -
isdtype 0 dtype,kind -
result_type 0* - -
abs 1 - -
acos 1 - -
acosh 1 - -
add 2 - -
asin 1 - -
asinh 1 - -
atan 1 - -
atan2 2 - -
atanh 1 - -
bitwise_and 2 - -
bitwise_left_shift 2 - -
bitwise_invert 1 - -
bitwise_or 2 - -
bitwise_right_shift 2 - -
bitwise_xor 2 - -
ceil 1 - -
clip 1 min,max -
conj 1 - -
copysign 2 - -
cos 1 - -
cosh 1 - -
divide 2 - -
equal 2 - -
exp 1 - -
expm1 1 - -
floor 1 - -
floor_divide 2 - -
greater 2 - -
greater_equal 2 - -
hypot 2 - -
imag 1 - -
isfinite 1 - -
isinf 1 - -
isnan 1 - -
less 2 - -
less_equal 2 - -
log 1 - -
log1p 1 - -
log2 1 - -
log10 1 - -
logaddexp 2 - -
logical_and 2 - -
logical_not 1 - -
logical_or 2 - -
logical_xor 2 - -
maximum 2 - -
minimum 2 - -
multiply 2 - -
negative 1 - -
nextafter 2 - -
not_equal 2 - -
positive 1 - -
pow 2 - -
real 1 - -
reciprocal 1 - -
remainder 2 - -
round 1 - -
sign 1 - -
signbit 1 - -
sin 1 - -
sinh 1 - -
square 1 - -
sqrt 1 - -
subtract 2 - -
tan 1 - -
tanh 1 - -
trunc 1 - -
fft.fft 1 - n,axis,norm
fft.ifft 1 - n,axis,norm
fft.fftn 1 - s,axes,norm
fft.ifftn 1 - s,axes,norm
fft.rfft 1 - n,axis,norm
fft.irfft 1 - n,axis,norm
fft.rfftn 1 - s,axes,norm
fft.irfftn 1 - s,axes,norm
fft.hfft 1 - n,axis,norm
fft.ihfft 1 - n,axis,norm
fft.fftfreq 1 - d,dtype,device
fft.rfftfreq 1 - d,dtype,device
fft.fftshift 1 - axes
fft.ifftshift 1 - axes
take 2 - axis
take_along_axis 2 - axis
linalg.cholesky 1 - upper
linalg.cross 2 - axis
linalg.det 1 - -
linalg.diagonal 1 - offset
linalg.eigh 1 - -
linalg.eigvalsh 1 - -
linalg.inv 1 - -
linalg.matmul 2 - -
linalg.matrix_norm 1 - keepdims,ord
linalg.matrix_power 2 - -
linalg.matrix_rank 1 - rtol
linalg.matrix_transpose 1 - -
linalg.outer 2 - -
linalg.pinv 1 - rtol
linalg.qr 1 - mode
linalg.slogdet 1 - -
linalg.solve 2 - -
linalg.svd 1 - full_matrices
linalg.svdvals 1 - -
linalg.tensordot 2 - axes
linalg.trace 1 - offset,dtype
linalg.vecdot 2 - axis
linalg.vector_norm 1 - axis,keepdims,ord
matmul 2 - -
matrix_transpose 1 - -
tensordot 2 - axes
vecdot 2 - axis
broadcast_arrays 0* - -
broadcast_to 1 shape -
concat 1 - axis
expand_dims 1 axis -
flip 1 - axis
moveaxis 3 - -
permute_dims 1 axes -
repeat 2 - axis
reshape 1 shape copy
roll 1 shift axis
squeeze 1 axis -
stack 1 - axis
tile 2 - -
unstack 1 - axis
argmax 1 - axis,keepdims
argmin 1 - axis,keepdims
count_nonzero 1 - axis,keepdims
nonzero 1 - -
searchsorted 2 - side,sorter
where 3 - -
unique_all 1 - -
unique_counts 1 - -
unique_inverse 1 - -
unique_values 1 - -
argsort 1 - axis,descending,stable
sort 1 - axis,descending,stable
cumulative_prod 1 - axis,dtype,include_initial
cumulative_sum 1 - axis,dtype,include_initial
max 1 - axis,keepdims
mean 1 - axis,keepdims
min 1 - axis,keepdims
prod 1 - axis,dtype,keepdims
std 1 - axis,correction,keepdims
sum 1 - axis,dtype,keepdims
var 1 - axis,correction,keepdims
all 1 - axis,keepdims
any 1 - axis,keepdims
diff 1 - axis,n,prepend,append
"""
ROWS = [row.split() for row in FUNCTIONS.strip().splitlines()]
DTYPES = [name for name in CONSTANTS if isinstance(getattr(tg, name), str)]
PLAIN = [name for name in DTYPES if name != "bfloat16"]
KINDS = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")


@pytest.mark.parametrize(("name", "count", "either", "named"), ROWS, ids=[row[0] for row in ROWS])
def test_a_function_takes_the_arguments_of_the_standard(name: str, count: str, either: str, named: str) -> None:
    function = operator.attrgetter(name)(tg)
    both = [] if either == "-" else either.split(",")
    by_name = [] if named == "-" else named.split(",")
    positions = int(count.rstrip("*")) + (2 if "*" in count else 0)
    for placed in range(len(both) + 1):
        names = [*both[placed:], *by_name]
        inspect.signature(function).bind(*range(positions + placed), **dict.fromkeys(names))


def test_the_table_has_all_functions_of_the_standard() -> None:
    assert len(ROWS) == 170
    assert tg.__array_api_version__ == VERSION


def test_a_variable_names_its_namespace() -> None:
    x = tg.vector("x")
    assert x.__array_namespace__() is tg
    assert x.__array_namespace__(api_version=VERSION) is tg
    with pytest.raises(tg.DomainError, match=r"api_version: found '1999.1', needed one of 2021.12, 2022.12"):
        x.__array_namespace__(api_version="1999.1")
    assert x.device is None
    assert x.to_device(x.device) is x
    for refused in (lambda: x.to_device("gpu"), lambda: tg.zeros(3, device="gpu"), lambda: tg.fft.fftfreq(3, device=0)):
        with pytest.raises(tg.InputError, match=r"device: found .*, needed None"):
            refused()


def test_what_the_namespace_says_of_itself() -> None:
    info = tg.__array_namespace_info__()
    other = np.__array_namespace_info__()
    assert info.dtypes() == {name: dtype.name for name, dtype in other.dtypes().items()}
    for kind in KINDS:
        assert info.dtypes(kind=kind) == {name: np.dtype(dtype).name for name, dtype in other.dtypes(kind=kind).items()}
    assert info.dtypes(kind=("bool", "real floating")).keys() == {"bool", "float32", "float64"}
    assert info.default_dtypes() == {kind: dtype.name for kind, dtype in other.default_dtypes().items()}
    assert info.capabilities() == other.capabilities()
    assert info.devices() == [info.default_device()]
    with tg.config(dtype="float32"):
        assert info.default_dtypes()["real floating"] == "float32"


def test_constants_are_those_of_numpy() -> None:
    for name in ("e", "pi", "inf", "euler_gamma"):
        assert getattr(tg, name) == getattr(np, name)
    assert np.isnan(tg.nan)
    assert tg.vector("x")[tg.newaxis].type.ndim == 2
    assert {tg.zeros(3, getattr(tg, name)).dtype for name in DTYPES} == set(DTYPES)


@pytest.mark.parametrize("dtype", PLAIN)
def test_kinds_of_dtypes_are_numpys(dtype: str) -> None:
    for kind in (*KINDS, "int16", ("int16", "real floating"), ("bool", "complex floating")):
        numpy_kind = tuple(map(as_kind, kind)) if isinstance(kind, tuple) else as_kind(kind)
        assert tg.isdtype(dtype, kind) is np.isdtype(np.dtype(dtype), numpy_kind)
    assert tg.iscomplexobj(tg.vector("x", dtype)) is np.iscomplexobj(np.ones(1, dtype))
    assert tg.isrealobj(np.ones(1, dtype)) is np.isrealobj(np.ones(1, dtype))


def as_kind(kind: str) -> object:
    return np.dtype(kind) if kind == "int16" else kind


@pytest.mark.parametrize("dtype", PLAIN)
def test_promotions_and_casts_are_numpys(dtype: str) -> None:
    x = tg.vector("x", dtype)
    for other in PLAIN:
        y, array = tg.vector("y", other), np.ones(1, other)
        assert tg.result_type(x, other) == tg.result_type(dtype, y) == np.result_type(np.dtype(dtype), array).name
        assert tg.promote_types(dtype, other) == np.promote_types(dtype, other).name
        for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
            assert tg.can_cast(x, other, casting) is np.can_cast(dtype, other, casting)
    for number in (True, 1, 1.0, 1j):
        assert tg.result_type(number, x) == np.result_type(number, np.ones(1, dtype)).name
    assert np.result_type(x, 1.0) == np.result_type(np.ones(1, dtype), 1.0)
    assert np.can_cast(x, "float64") is np.can_cast(np.dtype(dtype), "float64")


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.startswith(("float", "bfloat", "complex"))])
def test_limits_of_floats_are_numpys(dtype: str) -> None:
    info = tg.finfo(tg.vector("x", dtype))
    wanted = of_bfloat16() if dtype == "bfloat16" else np.finfo(dtype)
    for name in (
        "bits",
        "eps",
        "max",
        "min",
        "smallest_normal",
        "tiny",
        "smallest_subnormal",
        "resolution",
        "precision",
    ):
        assert getattr(info, name) == getattr(wanted, name), name
    assert numpy_dtype(info.dtype) == wanted.dtype
    assert type(info.eps) is float


def of_bfloat16() -> SimpleNamespace:
    """Its limits, from the numbers of its bits: 8 of the exponent and 7 of the fraction."""
    most = (2 - 2.0**-7) * 2.0**127
    return SimpleNamespace(
        bits=16, eps=2.0**-7, max=most, min=-most, smallest_normal=2.0**-126, tiny=2.0**-126, precision=2,
        smallest_subnormal=2.0**-133, resolution=tg.finfo("bfloat16").resolution, dtype=numpy_dtype("bfloat16"),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "int" in d])
def test_limits_of_integers_are_numpys(dtype: str) -> None:
    info, wanted = tg.iinfo(tg.vector("x", dtype)), np.iinfo(dtype)
    assert (info.bits, info.max, info.min, info.dtype) == (wanted.bits, wanted.max, wanted.min, dtype)


def test_what_has_no_such_limits_or_kind_is_refused() -> None:
    for call in (lambda: tg.finfo("int8"), lambda: tg.iinfo("float32"), lambda: tg.iinfo(tg.bool)):
        with pytest.raises(tg.DtypeError, match="needed a"):
            call()
    with pytest.raises(tg.DtypeError, match="isdtype: kind: found 'whole', needed a dtype, or one of 'bool'"):
        tg.isdtype("int8", "whole")
    with pytest.raises(tg.InputError, match="result_type: found nothing"):
        tg.result_type()
    with pytest.raises(tg.InputError, match="can_cast: casting: found 'never'"):
        tg.can_cast("int8", "int16", "never")
    with pytest.raises(tg.InputError, match="can_cast: found 1, needed a dtype or an array"):
        tg.can_cast(1, "int16")


def test_arrays_are_made_of_what_is_given() -> None:
    x = tg.vector("x")
    assert tg.asarray(x) is x
    assert tg.asarray([x, x], "float32").type == tg.tensor("y", "float32", (2, None)).type
    assert tg.from_dlpack(x) is x
    np.testing.assert_array_equal(tg.from_dlpack(np.arange(3)).eval(), [0, 1, 2])
    with pytest.raises(tg.InputError, match="from_dlpack: found list, needed an array with DLPack"):
        tg.from_dlpack([1])
    with pytest.raises(tg.InputError, match="copy: found False"):
        tg.from_dlpack(np.arange(3), copy=False)
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(tg.from_dlpack(torch.arange(3.0)).eval(), [0, 1, 2])
