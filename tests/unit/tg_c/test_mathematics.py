"""Kernels, printed in C, beside exact values, on hostile numbers, of every width, without fused products."""

import ctypes
import functools

import mpmath
import numpy as np
import pytest
import scipy.special

import tg
from tg_c import prelude as preludes
from tg_c import vectors
from tg_c.body import name_of
from tg_c.compiler import Flags, compile_unit
from tg_c.libm import ARITIES
from tg_c.machine import has_fused, masked_moves, vector_bytes, vector_symbol
from tg_c.prelude import Prelude
from tg_c.text import TYPEDEFS
from tg_c.vectors import Vectors
from tg_native.kernels.libm import WRITTEN_OUT
from tg_native.kernels.mathematics import KERNELS

KINDS = {"f64": np.float64, "f32": np.float32}
MOVES = {64: "avx512", 32: "avx2", 16: ""}
WIDTHS = [size for size in MOVES if size <= vector_bytes() and (masked_moves() or not MOVES[size])]
LOOP = """
void run(@K *out, const @K *x, const @K *y, i64 n) {
  for (i64 i = 0; i < n; i += @N) @STORE(out + i, @CALL);
}
"""
REFERENCES = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "nextafter": np.nextafter,
    "pow": np.power,
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}


def erfcinv(y):
    """By Newton's method; beside 1 too, where the working precision is larger than what is lost."""
    x = mpmath.mpf(float(scipy.special.erfcinv(float(y))))
    for _ in range(4):
        x += (mpmath.erfc(x) - y) * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(x * x)
    return x


def erfcx(x):
    """By its asymptotic series where the square is too large."""
    if x < 60:
        return mpmath.exp(x * x) * mpmath.erfc(x)
    terms = [mpmath.fac2(2 * k - 1) / (-2 * x * x) ** k for k in range(20)]
    return mpmath.fsum(terms) / (x * mpmath.sqrt(mpmath.pi))


GAMMA = {
    "digamma": mpmath.digamma,
    "lgamma": lambda x: mpmath.loggamma(x) if x > 0 else mpmath.log(abs(mpmath.gamma(x))),
    "trigamma": lambda x: mpmath.polygamma(1, x),
}
NORMAL = {
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "erfcinv": lambda y: erfcinv(y) if y < 1 else -erfcinv(2 - y),
    "erfcx": erfcx,
    "erfinv": lambda x: mpmath.sign(x) * erfcinv(1 - abs(x)) if abs(x) > 1e-3 else mpmath.erfinv(x),
    "i0e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x),
    "i1e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
    "ndtri": lambda p: -mpmath.sqrt(2) * NORMAL["erfcinv"](2 * p),
}
EXACT = {**GAMMA, **NORMAL}


def no_library(name, dtype, arity, count):
    """The symbols of a platform without vector mathematics."""


def kernel(name, kind, width, *, symbol=no_library, before=""):
    """A kernel as a function of arrays whose lengths are multiples of the number of lanes."""
    prelude = Prelude(symbol)
    lanes = Vectors(prelude, 8 * width // int(kind[1:]), int(kind[1:]) // 8)
    load, store, made = (
        lanes.function("load", kind),
        lanes.function("store", kind),
        name_of(prelude, name, KINDS[kind].__name__, lanes.count, lanes.size),
    )
    call = f"{made}({', '.join(f'{load}({x} + i)' for x in 'xy'[: ARITIES[name]])})"
    words = {"@K": kind, "@N": str(lanes.count), "@STORE": store, "@CALL": call}
    loop = LOOP
    for word, text in words.items():
        loop = loop.replace(word, text)
    libraries = tuple(sorted(prelude.libraries))
    path = compile_unit(before + TYPEDEFS + prelude.text() + loop, Flags(libraries=libraries))
    library = ctypes.CDLL(str(path))

    def run(x, y=None):
        y = x if y is None else y
        rest = -x.size % lanes.count
        padded = [np.concatenate([a, np.ones(rest, a.dtype)]) for a in (x, y)]
        out = np.empty_like(padded[0])
        library.run(*(ctypes.c_void_p(a.ctypes.data) for a in (out, *padded)), ctypes.c_int64(out.size))
        return out[: x.size]

    return run


def numbers(kind, seed=0):
    """Numbers of every size and sign, beside the ends and the exact values of the functions, and every special one."""
    dtype, rng, n = KINDS[kind], np.random.default_rng(seed), 8000
    info = np.finfo(dtype)
    known = [0, 1, 2, 0.5, 1.5, 1e5, 1e10, 2.0**60, 2.0**-60, np.e, np.pi, 700, 709.7, 709.79, 745.2, 746, 88.7, 88.73]
    known += [104, 128, 150, 1024, 1075, info.max, info.tiny, info.tiny * 0.3, info.smallest_subnormal, np.inf]
    known = np.array(known, dtype)
    bits = rng.integers(0, 2**info.bits, n, dtype=f"uint{info.bits}").view(dtype)
    spread = np.exp(np.clip(rng.normal(size=n) * (20 if kind == "f64" else 8), -80, 80))
    found = [
        *(rng.normal(size=n) * size for size in (1e-8, 1, 10, 300, 1e4)),
        *(center + rng.normal(size=n) * size for center in (1, -1) for size in (1e-1, 1e-4)),
        rng.uniform(-1, 1, n),
        rng.normal(size=n) * spread,
        np.arange(-2000, 2000) * (np.pi / 2),
    ]
    edges = [known, -known, np.nextafter(known, dtype(0)), [np.nan]]
    return np.concatenate([bits, *(np.asarray(a, dtype) for a in (*found, *edges))])


def off(found, right):
    """By how many units in the last place each result is off: infinite where NaN, an infinity or a zero is wrong."""
    with np.errstate(all="ignore"):
        rounded = right.astype(found.dtype)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        error = np.abs(found.astype(np.longdouble) - right) / np.spacing(np.abs(rounded))
        error = np.where(np.isfinite(error), error, np.inf)
        special = np.isnan(found) | np.isnan(rounded) | np.isinf(found) | np.isinf(rounded)
        error = np.where(special, np.where(same, 0, np.inf), error)
        return np.where((found == 0) & (rounded == 0) & (np.signbit(found) != np.signbit(rounded)), np.inf, error)


def agrees(name, found, right, x, allowed=None):
    error = off(found, right)
    worst = int(np.argmax(error))
    allowed = KERNELS[name].error if allowed is None else allowed
    assert error[worst] <= max(allowed, 0.5), (
        f"{name}({x[worst]!r}): found {found[worst]!r}, {error[worst]:.2f} ulp off"
    )


@pytest.fixture(params=[(width, fused) for width in WIDTHS for fused in (True, False)], ids=str)
def machine(request, monkeypatch):
    """A width of vectors, and what stands before a unit: without fused products there is no instruction for them."""
    width, fused = request.param
    monkeypatch.setattr(vectors, "vector_bytes", lambda: width)
    monkeypatch.setattr(vectors, "masked_moves", lambda: MOVES[width])
    monkeypatch.setattr(preludes, "vector_bytes", lambda: width)
    monkeypatch.setattr(preludes, "has_fused", lambda: fused and has_fused())
    return width, "" if fused else "#undef __FMA__\n"


def test_every_kernel_has_a_test():
    assert set(KERNELS) == {*REFERENCES, *EXACT}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REFERENCES)
def test_a_kernel_is_right_everywhere(name, kind, machine):
    width, before = machine
    x = numbers(kind)
    arguments = [x, np.random.default_rng(1).permutation(x)][: ARITIES[name]]
    found = kernel(name, kind, width, before=before)(*arguments)
    exact = name in ("fmod", "nextafter")
    with np.errstate(all="ignore"):
        right = REFERENCES[name](*(arguments if exact else [a.astype(np.longdouble) for a in arguments]))
    if exact:
        np.testing.assert_array_equal(found, right)
        np.testing.assert_array_equal(np.signbit(found[right == 0]), np.signbit(right[right == 0]))
    else:
        agrees(name, found, right, x)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_subnormal_number_has_itself_as_expm1(kind, machine):
    """To the last unit: the logarithm of 0 in place of the least number's is -inf."""
    x = np.spacing(np.zeros(1, KINDS[kind])) * np.array([1, -1, 2, 3, -7, 100, -100001], KINDS[kind])
    np.testing.assert_array_equal(kernel("expm1", kind, machine[0], before=machine[1])(x), np.expm1(x))
    np.testing.assert_array_equal(np.expm1(x), x)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", KINDS)
def test_powers_are_right_wherever_they_are_finite(kind, machine):
    """The larger the exponent, the nearer to 1 the base; negative bases have whole exponents."""
    rng, dtype, n = np.random.default_rng(6), KINDS[kind], 8000
    y = np.concatenate([rng.normal(size=n) * size for size in (1, 30, 300, 1e4)])
    x = np.exp(rng.normal(size=y.size) * (100 if kind == "f64" else 15) / np.maximum(np.abs(y), 1))
    x = np.concatenate([x, -np.exp(rng.normal(size=n)), np.exp(rng.normal(size=n))]).astype(dtype)
    y = np.concatenate([y, rng.integers(-9, 9, n), np.rint(rng.normal(size=n) * 9) / 2]).astype(dtype)
    found = kernel("pow", kind, machine[0], before=machine[1])(x, y)
    with np.errstate(all="ignore"):
        right = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    agrees("pow", found, right, x)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", KINDS)
def test_remainders_of_whole_and_of_near_numbers_are_exact(kind, machine):
    rng, dtype = np.random.default_rng(2), KINDS[kind]
    x = np.concatenate([rng.integers(-1000, 1000, 5000), rng.uniform(-1e6, 1e6, 5000)]).astype(dtype)
    y = np.concatenate([rng.integers(-9, 9, 5000), rng.uniform(-3, 3, 5000)]).astype(dtype)
    found = kernel("fmod", kind, machine[0], before=machine[1])(x, y)
    with np.errstate(all="ignore"):
        right = np.fmod(x, y)
    np.testing.assert_array_equal(found, right)
    np.testing.assert_array_equal(np.signbit(found[right == 0]), np.signbit(right[right == 0]))


def arguments_of_gamma(kind):
    """Positive numbers: in every interval, beside every zero and every end of an interval."""
    rng, dtype, n = np.random.default_rng(3), KINDS[kind], 400
    near = [c + rng.normal(size=n // 2) * 1e-4 for c in (0.75, 1, 1.4616321449683623, 2, 2.5, 3, 3.5, 4)]
    sizes = (-30, 30, -300, 600) if kind == "f64" else (-30, 30, -60, 80)
    far = [np.exp(rng.uniform(low, high, n)) for low, high in zip(sizes[::2], sizes[1::2], strict=True)]
    x = np.concatenate([rng.uniform(0, 9, 4 * n), *near, *far, [1, 2, 0.75, 2.5, 3, 3.5, 4]]).astype(dtype)
    return x[(x > 0) & np.isfinite(x)]


def exactly(name, x):
    with mpmath.workdps(40):
        return np.array([np.longdouble(mpmath.nstr(EXACT[name](mpmath.mpf(float(v))), 25)) for v in x])


@functools.cache
def gamma_cases(name, kind):
    x = arguments_of_gamma(kind)
    return x, exactly(name, x)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GAMMA)
def test_functions_of_gamma_are_right_for_positive_numbers(name, kind, machine):
    x, right = gamma_cases(name, kind)
    agrees(name, kernel(name, kind, machine[0], before=machine[1])(x), right, x)
    agrees(name, kernel(name, kind, machine[0], symbol=vector_symbol)(x), right, x)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GAMMA)
def test_functions_of_gamma_are_right_in_their_terms_for_negative_numbers(name, kind):
    rng = np.random.default_rng(4)
    x = np.concatenate([-rng.uniform(0, 10, 500), -np.exp(rng.uniform(-20, 5, 500))]).astype(KINDS[kind])
    x = x[x != np.rint(x)]
    found, right = kernel(name, kind, WIDTHS[0])(x), exactly(name, x)
    terms = np.maximum(np.abs(right), np.abs(exactly("digamma", 1 - x))) if name == "digamma" else np.abs(right)
    if name == "lgamma":
        terms = np.maximum(terms, 1)  # libm's beside its zeros
    error = np.abs(found - right) / np.spacing(terms.astype(KINDS[kind]))
    assert error.max() <= 6


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_gamma_at_their_poles_and_ends(kind):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -2.0, -1e30], KINDS[kind])
    inf, nan = np.inf, np.nan
    for name, right in (
        ("lgamma", [inf, inf, inf, inf, nan, inf, inf, inf]),
        ("digamma", [-inf, inf, inf, nan, nan, nan, nan, nan]),
        ("trigamma", [inf, inf, 0, nan, nan, inf, inf, inf]),
    ):
        np.testing.assert_array_equal(kernel(name, kind, WIDTHS[0])(x), np.array(right, KINDS[kind]), err_msg=name)


def arguments_of(name, kind):
    """Numbers in every interval of a function of the normal distribution, or of a Bessel function."""
    rng, dtype, n = np.random.default_rng(5), KINDS[kind], 300
    unit, tiny = rng.uniform(0, 1, 4 * n), np.exp(rng.uniform(-700 if kind == "f64" else -85, -1, n))
    signed, near = np.concatenate([unit, -unit]), rng.normal(size=n) * 1e-6
    x = {
        "erfinv": [signed, 1 - tiny[tiny > 1e-15], tiny, near],
        "erfcinv": [2 * unit, tiny, 1 + near],
        "ndtri": [unit, tiny, 1 - tiny[tiny > 1e-15], 0.5 + near],
        "erf": [7 * signed, tiny, -tiny, np.sign(near) + near],
        "erfc": [7 * signed, (26 if kind == "f64" else 9) * unit, tiny, 0.5 + near],
        "erfcx": [10 * signed, -(26 if kind == "f64" else 9) * unit, 100 * unit, 1e9 * tiny, near],
    }.get(name, [20 * signed, 100 * unit, 8 + near, tiny])
    x = np.concatenate(x).astype(dtype)
    low, high = {"erfinv": (-1, 1), "erfcinv": (0, 2), "ndtri": (0, 1)}.get(name, (-9 if kind == "f32" else -26, 1e9))
    return x[(low < x) & (x < high) & (np.abs(x) >= np.finfo(dtype).tiny)]


@functools.cache
def normal_cases(name, kind):
    x = arguments_of(name, kind)
    return x, exactly(name, x)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NORMAL)
def test_functions_of_the_normal_distribution_are_right(name, kind, machine):
    x, right = normal_cases(name, kind)
    agrees(name, kernel(name, kind, machine[0], before=machine[1])(x), right, x)
    agrees(name, kernel(name, kind, machine[0], symbol=vector_symbol)(x), right, x)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("erf", [0.0, -0.0, None, None, None, -1, np.nan, 1, -1]),
        ("erfc", [1, 1, None, None, None, 2, np.nan, 0, 2]),
        ("erfcinv", [np.inf, np.inf, 0, np.nan, -np.inf, np.nan, np.nan, np.nan, np.nan]),
        ("erfcx", [1, 1, None, None, None, np.inf, np.nan, 0, np.inf]),
        ("erfinv", [0.0, -0.0, np.inf, -np.inf, np.nan, np.nan, np.nan, np.nan, np.nan]),
        ("i0e", [1, 1, None, None, None, None, np.nan, 0, 0]),
        ("i1e", [0.0, -0.0, None, None, None, None, np.nan, 0.0, -0.0]),
        ("ndtri", [-np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan]),
    ],
)
def test_functions_of_the_normal_distribution_at_their_ends(name, right, kind):
    x = np.array([0.0, -0.0, 1, -1, 2, -30, np.nan, np.inf, -np.inf], KINDS[kind])
    found = kernel(name, kind, WIDTHS[0])(x)
    for argument, y, wanted in zip(x, found, right, strict=True):
        if wanted is not None:
            np.testing.assert_equal(y, KINDS[kind](wanted), err_msg=f"{name}({argument})")


def test_a_function_that_libm_lacks_has_a_form_for_one_number(machine):
    _, before = machine
    prelude = Prelude()
    name = name_of(prelude, "digamma", "float64")
    text = f"{before}{TYPEDEFS}{prelude.text()}\nf64 one(f64 x) {{ return {name}(x); }}\n"
    library = ctypes.CDLL(str(compile_unit(text)))
    library.one.restype, library.one.argtypes = ctypes.c_double, [ctypes.c_double]
    assert "_ZGV" not in text
    x = np.array([0.3, 1.0, 2.0, 17.5, 1e10, -0.5])
    agrees("digamma", np.array([library.one(v) for v in x]), exactly("digamma", x), x)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fn", [tg.exp, tg.tanh, tg.sin, tg.log1p])
def test_equal_elements_have_equal_results_wherever_they_stand(fn, dtype):
    x = tg.vector("x", dtype=dtype)
    y = fn(x)
    for k in range(1, 4 * WRITTEN_OUT):
        y = y * fn(x * k)
    f = tg.function([x], y, backend="c")
    for value in (0.3, 0.7, 1.37):
        for n in (1, 7, 37):
            assert len(set(f(np.full(n, value, dtype)).tolist())) == 1


def test_a_kernel_that_is_used_often_is_called():
    x = tg.vector("x")
    y = x
    for _ in range(3 * WRITTEN_OUT):
        y = tg.tanh(y) + x
    source = tg.function([x], y, backend="c").source()
    uses = [line for line in source.splitlines() if line.lstrip().startswith("const") and "tanh_f64x" in line]
    in_place = [line for line in uses if "tg_inline_tanh" in line]
    assert (len(uses), len(in_place)) == (3 * WRITTEN_OUT, WRITTEN_OUT)  # of whole blocks and of the last one at once
