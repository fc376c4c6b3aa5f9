"""Reductions, shapes, joining, indexing, branches and loops; and that every rule has a test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
from differential import DTYPES, FLOATS, Case, check, classes, hostile
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode
from pytensor.compile.ops import DeepCopyOp, ViewOp
from pytensor.gradient import disconnected_grad, grad_clip, grad_scale, undefined_grad, zero_grad
from pytensor.graph.op import Op
from pytensor.ifelse import ifelse
from pytensor.raise_op import Assert
from pytensor.scalar.basic import Composite
from pytensor.scan.utils import until as ends
from pytensor.tensor import blas
from pytensor.tensor.basic import AllocEmpty, ARange, MakeVector
from pytensor.tensor.blas import BatchedDot, Dot22, Dot22Scalar, Gemm, Gemv
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import CAReduce, Elemwise
from pytensor.tensor.extra_ops import CpuContiguous
from pytensor.tensor.math import MulWithoutZeros
from pytensor.tensor.shape import Shape_i
from pytensor.xtensor.basic import xtensor_from_tensor

import tg
import tg_pytensor

DRAWS = np.random.default_rng(5)
FEW = np.array(FLOATS[:8])
OPS: dict[str, Any] = classes(Op)


def typed(x: Any, name: str | None = None) -> Any:
    return pt.tensor(name, dtype=x.dtype, shape=tuple(1 if n == 1 else None for n in x.shape))


def case(name: str, build: Any, *values: Any, scale: float = 10.0) -> Case:
    """What a function builds of inputs."""
    arrays = [np.asarray(x) for x in values]
    inputs = [typed(x) for x in arrays]
    outputs = build(*inputs)
    return Case(name, inputs, list(outputs) if isinstance(outputs, list | tuple) else [outputs], arrays, scale)


def reductions(dtype: str) -> list[Case]:
    x = DRAWS.choice(hostile(dtype), size=(4, 5))
    small = x if np.dtype(dtype).kind != "f" else np.where(np.isfinite(x) & (abs(x) < 1e9), x, 2).astype(dtype)
    found = []
    for axis in (None, 0, 1, (0, 1)):
        for y in (x, np.asfortranarray(x), x[::-1, ::-1], x[:1, :1]):
            found += [
                case(f"{f.__name__} {axis}", lambda v, f=f, axis=axis: f(v, axis=axis), y) for f in (pt.max, pt.min)
            ]
            found.append(case(f"argmax {axis}", lambda v, axis=axis: pt.argmax(v, axis=axis), y))
        for f in (pt.sum, pt.prod):
            found += [
                case(f"{f.__name__} {axis}", lambda v, f=f, axis=axis: f(v, axis=axis), y) for y in (small, small[:0])
            ]
        found += [
            case(f"{f.__name__} {axis}", lambda v, f=f, axis=axis: f(v, axis=axis), y)
            for f in (pt.all, pt.any)
            for y in (x, x[:0])
        ]
        found.append(
            case(f"prod no zeros {axis}", lambda v, axis=axis: pt.prod(v, axis=axis, no_zeros_in_input=True), small)
        )
        if np.dtype(dtype).kind in "iub":
            for op in (ps.and_, ps.or_, ps.xor):
                found.append(case(f"{op} {axis}", CAReduce(op, axis=axis), x))
    return found


def by_lengths(v: Any) -> list[tuple[Any, ...]]:
    """Shapes of which one length is free, and the others are lengths of a matrix or are made of them."""
    n, m = v.shape[0], v.shape[1]
    return [(m, -1), (-1, m), (-1, n * m), (pt.prod(v.shape), -1), (1, n, -1), (-1, pt.cast(m, "int8"))]


def shapes(dtype: str) -> list[Case]:
    x = DRAWS.choice(hostile(dtype), size=(3, 4))
    one = hostile(dtype)[:1]
    return [
        case("shape", lambda v: [v.shape, v.shape[1], Shape_i(1)(v)], x),
        case("reshape by lengths", lambda v: [v.reshape(n) for n in by_lengths(v)], x),
        case("reshape", lambda v: [v.reshape((2, -1)), v.reshape((v.shape[1], v.shape[0])), v.flatten()], x),
        case("dimshuffle", lambda v: [v.T, v.dimshuffle(1, "x", 0), v[None]], x),
        case("drop", lambda v: v.dimshuffle(), one),
        case("alloc", lambda v: [pt.alloc(v, 2, v.shape[0], 3), pt.full((2, 2), v[0])], one),
        case("join", lambda v: [pt.join(0, v, v), pt.join(1, v, v[:, :0]), pt.stack([v, v])], x),
        case("join dtypes", lambda v: pt.join(0, v[0], pt.as_tensor([1, 2], dtype="int8")), x),
        case("split", lambda v: pt.split(v, [1, 2, 1], n_splits=3, axis=1), x),
        case("specify", lambda v: pt.specify_shape(v, (3, None)) * 1, x),
        case("vector", lambda v: MakeVector(dtype)(v[0, 0], v[1, 1]), x),
        case("eye", lambda n: [pt.eye(n, n + 1, k) for k in (-1, 0, 2)], np.int64(3)),
        case("arange", lambda n: [pt.arange(0, n, 2), pt.arange(n, -1, -1), pt.arange(n)], np.int64(5)),
        case("empty", lambda v: AllocEmpty(dtype)(v.shape[0], 2).shape, x),
        case("passed", lambda v: [ViewOp()(v), DeepCopyOp()(v), CpuContiguous()(v), ps_and_back(v)], x),
        case(
            "joined axes",
            lambda v: [pt.join_dims(v), pt.split_dims(v, (2, 2), axis=1)] if hasattr(pt, "join_dims") else v,
            x,
        ),
    ]


def ps_and_back(v: Any) -> Any:
    return pt.tensor_from_scalar(pt.scalar_from_tensor(v[0, 0]))


def indexing(dtype: str) -> list[Case]:
    x = DRAWS.choice(hostile(dtype), size=(5, 4))
    y = DRAWS.choice(hostile(dtype), size=(2, 4))
    rows, mask = np.array([3, -5, 3]), np.array([True, False, False, True, False])
    n = np.int64(2)
    places = [
        ("basic", lambda v, r, m, k: v[k:, ::-1], 1), ("one", lambda v, r, m, k: v[-k], 1),
        ("backwards", lambda v, r, m, k: v[: -k - 10 : -1, k - 9 :], 1), ("rows", lambda v, r, m, k: v[r], 1),
        ("pairs", lambda v, r, m, k: v[r, r % 4], 1), ("mixed", lambda v, r, m, k: v[k, r % 4], 1),
        ("mask", lambda v, r, m, k: v[m], 1), ("new axis", lambda v, r, m, k: v[r, None, 1:], 1),
        ("computed slice", lambda v, r, m, k: v[r, k - 1 : k + 1], 1),
    ]  # fmt: skip
    found = [case(name, lambda v, r, m, k, f=f: f(v, r, m, k), x, rows, mask, n) for name, f, _ in places]
    for name, f, _ in places[:6]:
        found += [
            case(f"{name} set", lambda v, r, m, k, f=f: pt.set_subtensor(f(v, r, m, k), v[0, 0]), x, rows, mask, n),
            case(f"{name} inc", lambda v, r, m, k, f=f: pt.inc_subtensor(f(v, r, m, k), v[1, 1]), x, rows, mask, n),
        ]
    repeated = lambda v, r, w: pt.inc_subtensor(v[r], w[0], ignore_duplicates=True)  # noqa: E731
    plain = lambda v, w: [pt.set_subtensor(v[1:3], w), pt.inc_subtensor(v[:2], w), pt.set_subtensor(v[:2], w[:1])]  # noqa: E731
    finite = np.where(np.isfinite(x), x, 1).astype(dtype)
    if "AdvancedSubtensor1" in OPS:  # until 3.0
        taken, added, put = (
            OPS["AdvancedSubtensor1"](),
            *(OPS["AdvancedIncSubtensor1"](set_instead_of_inc=s) for s in (0, 1)),
        )
        found.append(
            case(
                "rows by themselves",
                lambda v, w, r: [taken(v, r), added(v, w, r[:2]), put(v, w, r[:2])],
                finite,
                y,
                rows,
            )
        )
    found += [case("once", repeated, finite, rows, y), case("rows of values", plain, finite, y)]
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", [reductions, shapes, indexing])
def test_arrays(family: Any, dtype: str) -> None:
    if dtype == "bool" and family is indexing:
        pytest.skip("sums of booleans are none of PyTensor's")
    check(family(dtype))


def products() -> list[Case]:
    x, y, v, w = (DRAWS.normal(size=s) for s in ((3, 4), (4, 2), (4,), (3,)))
    z, many = DRAWS.normal(size=(3, 2)), DRAWS.normal(size=(2, 3, 4))
    nan = np.full((3, 2), np.nan)
    found = [
        case(
            "dot", lambda *a: [pt.dot(a[0], a[1]), pt.dot(a[0], a[2]), pt.dot(a[2], a[1]), pt.dot(a[2], a[2])], x, y, v
        ),
        case("dot of dtypes", pt.dot, x.astype("float32"), (10 * y).astype("int32")),
        case("Dot22", lambda a, b: [Dot22()(a, b), Dot22Scalar()(a, b, pt.constant(2.5, dtype="float64"))], x, y),
        case("BatchedDot", BatchedDot(), many, np.swapaxes(many, 1, 2)),
    ]
    if hasattr(blas, "Ger"):  # until 3.2
        found.append(case("Ger", lambda a, *p: blas.Ger(False)(a, pt.constant(0.5, dtype="float64"), *p), x, w, v))
    for scale in (0.0, 1.0, 2.5):
        b = pt.constant(scale, dtype="float64")
        found.append(
            case(
                f"Gemm {scale}",
                lambda c, p, q, b=b: Gemm(False)(c, pt.constant(0.5, dtype="float64"), p, q, b),
                nan if not scale else z,
                x,
                y,
            )
        )
        found.append(
            case(
                f"Gemv {scale}",
                lambda c, p, q, b=b: Gemv(False)(c, pt.constant(0.5, dtype="float64"), p, q, b),
                w,
                x,
                v,
            )
        )
    return found


def scalar_graphs() -> list[Case]:
    """Composite, loops of scalars, and what derivatives of special functions are made of."""
    a, b = ps.float64("a"), ps.float64("b")
    composite = Elemwise(Composite([a, b], [a * b + a, ps.exp(b)]))
    x, y = DRAWS.uniform(0.3, 2.5, size=(2, 6))
    s = pt.vector()
    found = [case("Composite", lambda p, q: composite(p, q), x, y)]
    for function in (pt.gammainc, pt.gammaincc):
        total = function(s, y)
        found.append(Case(f"d {function}", [s], [pytensor.grad(total.sum(), s)], [x], 1e3))
    found.append(Case("d betainc", [s], [pytensor.grad(pt.betainc(s, y, 0.3).sum(), s)], [x], 1e4))
    found.append(Case("d hyp2f1", [s], [pytensor.grad(pt.hyp2f1(s, y, 3.0, 0.3).sum(), s)], [x], 1e4))
    found.append(
        case("MulWithoutZeros", Elemwise(MulWithoutZeros(ps.upcast_out, name="mul_without_zeros")), FEW, FEW[::-1])
    )
    found.append(
        case("xlogx", lambda v: [pt.xlogx.xlogx(v), pt.xlogx.xlogy0(v, v + 1)] if hasattr(pt, "xlogx") else v, abs(FEW))
    )
    loaded: dict[str, Any] = classes(ps.ScalarOp)
    scaled = [loaded[name](ps.upgrade_to_float, name=name) for name in ("I0e", "I1e") if name in loaded]  # of PyMC
    found += [case(op.name, Elemwise(op), FEW) for op in scaled]
    return found


def views() -> list[Case]:
    """What passes its operand on, and changes derivatives alone."""
    changed = (
        disconnected_grad,
        zero_grad,
        undefined_grad,
        lambda v: grad_clip(v, -1, 1),
        lambda v: grad_scale(v, 3.0),
    )
    found = [case("gradients", lambda v: [op(v) for op in changed], FEW)]
    found.append(case("named axes", lambda v: xtensor_from_tensor(v, ("a",)).values, FEW))
    check_parameter: Any = classes(Op).get("CheckParameterValue")
    if check_parameter is not None:  # of PyMC
        checks = [check_parameter("never", replaced) for replaced in (True, False)]
        found.append(case("CheckParameterValue", lambda v: [c(v, pt.all(v > -9), v[0] < 9) for c in checks], FEW[:4]))
    return found


def graphs_inside() -> list[Case]:
    p, q = pt.vector("p"), pt.vector("q")
    inner = OpFromGraph([p, q], [p * q, p - q])
    x, y = DRAWS.normal(size=(2, 4))
    return [
        case("OpFromGraph", lambda v, w: inner(v, w), x, y),
        case("IfElse", lambda v, w: ifelse(v.sum() > w.sum(), [v, w], [w, v]), x, y),
        case("Assert", lambda v: Assert("never")(v, pt.all(v > -100)), x),
        case("alloc_diag", lambda v: [pt.diag(v), pt.diag(v, k=-1)], x),
        case("pad", lambda v: [pt.pad(v, (1, 2), mode=m) for m in ("constant", "edge", "reflect", "wrap", "mean")], x),
        case("kron", lambda v, w: pt.linalg.kron(v[:, None], w[None]), x, y),
        case("einsum", lambda v, w: pt.einsum("i,j->ij", v, w), x, y),
    ]


def steps(name: str, build: Any, *values: Any) -> Case:
    return case(f"scan {name}", build, *values, scale=1e3)


def scans() -> list[Case]:
    x = DRAWS.normal(size=6)

    def loop(*arguments: Any, **options: Any) -> Any:
        return pytensor.scan(*arguments, return_updates=False, **options)

    def until(v: Any) -> Any:
        return loop(lambda a, s: (s + a, ends(s > 1.5)), sequences=[abs(v)], outputs_info=[pt.zeros(())])

    def gradient(v: Any) -> Any:
        return pytensor.grad(loop(lambda a, s: pt.tanh(s * a) + a, sequences=[v], outputs_info=[pt.ones(())])[-1], v)

    def two_taps(v: Any) -> Any:
        first = {"initial": v[:2], "taps": [-2, -1]}
        return loop(lambda a, p, q: pt.sin(p) - q * a, sequences=[v], outputs_info=[first])

    return [
        steps("map", lambda v: loop(lambda a: pt.exp(a), sequences=[v]), x),
        steps("sum", lambda v: loop(lambda a, s: s + a, sequences=[v], outputs_info=[pt.zeros(())]), x),
        steps("taps", two_taps, x),
        steps("taps of sequences", lambda v: loop(lambda p, q: p * q, sequences=[{"input": v, "taps": [-1, 1]}]), x),
        steps(
            "backwards",
            lambda v: loop(lambda a, s: s * 0.5 + a, sequences=[v], outputs_info=[v[0]], go_backwards=True),
            x,
        ),
        steps("until", until, x),
        steps("steps", lambda v, n: loop(lambda s: s * 0.5, outputs_info=[v], n_steps=n), x, np.int64(4)),
        steps("gradient", gradient, x),
        steps("gradient of taps", lambda v: pytensor.grad(two_taps(v).sum(), v), x),
    ]


def every() -> list[Case]:
    """All cases of one dtype."""
    families = (reductions, shapes, indexing)
    found = [c for family in families for c in family("float64")]
    return [*found, *products(), *scalar_graphs(), *views(), *graphs_inside(), *scans()]


@pytest.mark.parametrize("family", [products, scalar_graphs, views, graphs_inside, scans])
def test_graphs(family: Any) -> None:
    check(family())


SHORT = (
    Mode("py", "fast_run")
    .excluding("inplace", "fusion", "scan_save_mem_prealloc")
    .including("scan_save_mem_no_prealloc")
)  # makes buffers shorter than the number of steps: what is left are the last elements


def test_loops_that_keep_their_ends_alone() -> None:
    found = []
    for whole in scans():
        if "gradient" in whole.name:
            continue  # lengths of ends in the loops of gradients take minutes to be told apart
        f = pytensor.function(whole.inputs, [v[-1] for v in whole.outputs if v.ndim], mode=SHORT)
        graph = f.maker.fgraph
        inputs = [v for v in graph.inputs if v.owner is None]
        found.append(Case(whole.name, inputs, list(graph.outputs), whole.values, 1e3))
    check(found)


def test_a_loop_whose_end_alone_is_read_stops_where_its_condition_says() -> None:
    """Of a billion steps that it might make nothing is kept."""
    x, n = pt.scalar("x"), pt.lscalar("n")
    values = pytensor.scan(lambda a: (a * 3, ends(a > 50)), outputs_info=[x], n_steps=n, return_updates=False)
    graph = pytensor.function([x, n], values[-1], mode=SHORT).maker.fgraph
    converted = tg_pytensor.from_pytensor([v for v in graph.inputs if v.owner is None], graph.outputs)
    for backend in ("py", "c"):
        f = tg.function(list(converted.inputs), list(converted.outputs), backend=backend)
        for steps, wanted in ((1, 3.0), (3, 27.0), (10**9, 243.0)):
            assert float(f(1.0, steps)[0]) == wanted


def test_a_scalar_has_any_axis() -> None:
    """PyTensor's `perform` does not take it, its rewriting does: a density of PyMC has such a sum."""
    x = pt.scalar("x")
    y = CAReduce(ps.add, axis=(0,))(x)
    (x_,), (y_,), _ = tg_pytensor.from_pytensor([x], [y])
    wanted = pytensor.function([x], pt.sum(x, axis=-1), mode=Mode("py", "fast_run"))(2.5)
    assert float(y_.eval({x_: 2.5})) == float(wanted) == 2.5


def test_lengths_of_operands_are_not_repeated_at_run_time() -> None:
    x, y = pt.vector("x"), pt.vector("y")
    graph = tg_pytensor.from_pytensor([x, y], [x + y])
    for backend in ("py", "c"):
        f = tg.function(list(graph.inputs), list(graph.outputs), backend=backend)
        with pytest.raises(ValueError, match="lengths differ"):
            f([1.0], [1.0, 2.0])


def test_ranges_of_a_batch_have_one_length() -> None:
    start, stop = pt.lvector("start"), pt.lvector("stop")
    y = Blockwise(ARange("int64"), signature="(),(),()->(a)")(start, stop, pt.constant(np.array([2])))
    graph = tg_pytensor.from_pytensor([start, stop], [y])
    for backend in ("py", "c"):
        f = tg.function(list(graph.inputs), list(graph.outputs), backend=backend)
        np.testing.assert_array_equal(f([1, 5], [6, 10])[0], [[1, 3, 5], [5, 7, 9]])
        np.testing.assert_array_equal(f([9, 5], [1, 5])[0], np.zeros((2, 0)))
        with pytest.raises(ValueError, match="found lengths from 3 to 4 in a batch"):
            f([1, 5], [6, 12])


def test_errors_at_run_time_name_the_line_of_pytensor() -> None:
    x = pt.vector("x")
    y = Assert("must be positive")(x, pt.all(x > 0))  # the line that is shown
    graph = tg_pytensor.from_pytensor([x], [y])
    for backend in ("py", "c"):
        f = tg.function(list(graph.inputs), list(graph.outputs), backend=backend)
        with pytest.raises(AssertionError, match="must be positive") as caught:
            f([-1.0])
        told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
        assert "test_rules_tensors.py" in told
