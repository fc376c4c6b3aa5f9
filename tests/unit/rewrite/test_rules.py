"""Every rule of the catalogue fires for every dtype that it is for, and keeps the promise of its class."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.rewrite.driver import rewrite
from tg.rewrite.phases import EXACT, KINDS, NAN_UNSAFE, PHASES, REASSOCIATES, SIGNED_ZERO, STABILIZE
from tg.rewrite.rule import Equation, NodeRule
from tg.rewrite.rules.catalog import PASSES, RULES
from tg.types.dtypes import FLOATS, is_float, is_integer, numpy_dtype

BY_NAME = {rule.name: rule for rule in RULES}
HALF = ("float16", "bfloat16")
FLOAT_POINTS = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-320, 1e-40, -1e-30, 1e-8, 0.5, 1.0, -1.0, 3.0, -20.0, 90.0, 1e30)
INTEGER_POINTS = (0, 1, -1, 2, 3, 5, 7, 100, 127, -128, 12, 50, 4, 6, 8, 9)
BENIGN = (0.3, 0.7, 1.0, 1.3, 2.0, 2.9, 0.4, 0.6)


class One:
    """The rewrites of one plugin that has a single rule."""

    passes = ()

    def __init__(self, *rules):
        self.rules = rules

    def __hash__(self):
        return hash(self.rules)


def parameters(rule):
    function = rule.match if isinstance(rule, Equation) else rule.example
    code = getattr(function, "__code__", None)
    return code.co_argcount if code is not None else getattr(function, "arity", 1)


def expression(rule, inputs):
    return (rule.match if isinstance(rule, Equation) else rule.example)(*inputs)


def apply_rule(rule, inputs, outputs):
    """What a rule alone makes of an expression, and how often it fired."""
    graph = FunctionGraph.of(inputs, outputs)
    kept = frozenset({"fold_constants"})
    unsafe = rule.kind == NAN_UNSAFE
    frozen = rewrite(graph, [One(_safe(rule) if unsafe else rule)], supported=lambda op, types: True, exclude=kept)
    return frozen, graph.fired.get(rule.name, 0)


def _safe(rule):
    """The same rule under a class that the default mode applies."""
    return Equation(rule.name, rule.phase, EXACT, rule.why, rule.match, rule.replace, rule.dtypes, rule.when)


def dtypes_of(rule):
    if isinstance(rule, Equation):
        return sorted(rule.dtypes)
    return list(FLOATS)


def points(dtype, k):
    if dtype == "bool":
        values = np.array([True, False] * 8)
    elif is_integer(dtype):
        with np.errstate(all="ignore"):
            values = np.array(INTEGER_POINTS).astype(dtype)
    else:
        with np.errstate(all="ignore"):
            values = np.array(FLOAT_POINTS).astype(numpy_dtype(dtype))
    return np.roll(np.resize(values, 16), 5 * k).reshape(4, 4)


CASES = [pytest.param(r, d, id=f"{r.name}-{d}") for r in RULES for d in dtypes_of(r)]
SKIP = {("divide_by_power_of_two", d) for d in HALF} | {  # the rule is for those two dtypes only
    ("cast_to_own_dtype", "none"),
}


@pytest.mark.parametrize(("rule", "dtype"), CASES)
def test_the_rule_fires_and_keeps_the_promise_of_its_class(rule, dtype):
    if (rule.name, dtype) in SKIP:
        pytest.skip("the rule declines this dtype on purpose")
    if isinstance(rule, Equation) and rule.when is not None:
        pytest.skip("fires under a condition, which has a test of its own")
    count = parameters(rule)
    inputs = [tg.tensor(f"x{k}", dtype=dtype, shape=(4, 4)) for k in range(count)]
    try:
        output = expression(rule, inputs)
    except (TypeError, OverflowError) as error:
        pytest.skip(f"no such expression: {error}")
    before = FunctionGraph.of(inputs, [output]).freeze()
    after, fired = apply_rule(rule, inputs, [output])
    assert fired >= 1
    assert after.output_types[0].refines(before.output_types[0])
    compare(rule, before, after, [points(dtype, k) for k in range(count)])
    if is_float(dtype):
        gentle = [benign(dtype, k) for k in range(count)]
        compare(rule, before, after, gentle)
        close(interpret(before, gentle)[0], interpret(after, gentle)[0], dtype)
        gentle[-1][0, 1] = np.nan
        old, new = (np.asarray(interpret(f, gentle)[0], np.float64) for f in (before, after))
        np.testing.assert_array_equal(np.isnan(old), np.isnan(new) | (np.isnan(old) & (rule.kind == NAN_UNSAFE)))


def benign(dtype, k):
    return np.resize(np.roll(np.array(BENIGN), k), 16).reshape(4, 4).astype(numpy_dtype(dtype))


def compare(rule, before, after, arrays):
    if rule.kind == REASSOCIATES and arrays[0].dtype.kind not in "biu":  # infinite operands are outside its promise
        arrays = [np.where(np.isinf(a.astype(np.float64)), a.dtype.type(60), a) for a in arrays]
    with np.errstate(all="ignore"):
        old, new = interpret(before, arrays)[0], interpret(after, arrays)[0]
    assert old.dtype == new.dtype
    assert old.shape == new.shape
    agree(rule, old, new)


def agree(rule, old, new):
    """Compare at hostile points, as far as the class of the rule promises."""
    if rule.kind == NAN_UNSAFE:
        return
    if old.dtype.kind in "biu":
        np.testing.assert_array_equal(old, new)
        return
    if old.dtype.kind == "c":
        old, new = (np.stack([z.real, z.imag]) for z in (old, new))
    old, new = np.asarray(old, np.float64), np.asarray(new, np.float64)
    if rule.kind in (EXACT, SIGNED_ZERO):
        np.testing.assert_array_equal(old, new)
        if rule.kind == EXACT:
            np.testing.assert_array_equal(np.signbit(old[~np.isnan(old)]), np.signbit(new[~np.isnan(old)]))
        return
    assert rule.kind == REASSOCIATES
    assert not (np.isnan(new) & ~np.isnan(old)).any()


STABLE = [pytest.param(r, id=r.name) for r in RULES if r.phase == STABILIZE]


@pytest.mark.parametrize("rule", STABLE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_stable_form_has_the_gradient_of_the_formula(rule, dtype):
    count = parameters(rule)
    inputs = [tg.tensor(f"x{k}", dtype=dtype, shape=(4, 4)) for k in range(count)]
    output = expression(rule, inputs)
    arrays = [benign(dtype, k) * np.asarray(0.25, dtype) for k in range(count)]
    formula = FunctionGraph.of(inputs, tg.grad(tg.sum(output), inputs)).freeze()
    form = apply_rule(rule, inputs, [output])[0].instantiate(inputs)[0]
    stable = FunctionGraph.of(inputs, tg.grad(tg.sum(form), inputs)).freeze()
    for old, new in zip(interpret(formula, arrays), interpret(stable, arrays), strict=True):
        close(old, new, dtype)


def close(old, new, dtype):
    eps = {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(dtype) or np.finfo(dtype).eps
    np.testing.assert_allclose(np.asarray(old, np.float64), np.asarray(new, np.float64), rtol=64 * eps, atol=16 * eps)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_a_rule_says_what_it_is(rule):
    assert rule.name.replace("_", "").isalnum()
    assert rule.phase in PHASES
    assert rule.kind in KINDS
    assert rule.why.endswith(".")
    assert rule.keys
    assert isinstance(rule, Equation) or (isinstance(rule, NodeRule) and rule.example is not None)


def test_names_are_unique():
    names = [one.name for one in (*RULES, *PASSES)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("rule", [r for r in RULES if isinstance(r, Equation)], ids=lambda r: r.name)
def test_both_sides_have_the_same_variables(rule):
    count = parameters(rule)
    inputs = [tg.matrix(f"x{k}", dtype=min(rule.dtypes)) for k in range(count)]
    assert rule.replace(*inputs) is not None


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda x: tg.log(1 + x), tg.log1p),
        (lambda x: tg.log(x + 1.0), tg.log1p),
        (lambda x: tg.exp(x) - 1, tg.expm1),
        (lambda x: 1 / (1 + tg.exp(-x)), tg.sigmoid),
        (lambda x: 1 / (tg.exp(-x) + 1), tg.sigmoid),
        (lambda x: tg.exp(x) / (1 + tg.exp(x)), tg.sigmoid),
        (lambda x: tg.log(tg.sigmoid(x)), lambda x: -tg.softplus(-x)),
        (lambda x: tg.log(1 - tg.sigmoid(x)), lambda x: -tg.softplus(x)),
        (lambda x: tg.log(1 + tg.exp(x)), tg.softplus),
        (lambda x: 1 - tg.sigmoid(x), lambda x: tg.sigmoid(-x)),
        (lambda x: tg.log(tg.exp(x) + tg.exp(2 * x)), lambda x: tg.logaddexp(x, x * 2)),
        (lambda x: 2 * x + x * 2, lambda x: x * 2 + x * 2),
        (lambda x: tg.log(tg.sum(tg.exp(x), axis=1)), lambda x: tg.logsumexp(x, axis=1)),
        (lambda x: tg.log(tg.sum(tg.exp(x), axis=0, keepdims=True)), lambda x: tg.logsumexp(x, axis=0, keepdims=True)),
        (lambda x: tg.exp(x) / tg.sum(tg.exp(x), axis=1, keepdims=True), lambda x: tg.softmax(x, axis=1)),
        (lambda x: tg.log(tg.softmax(x, axis=0)), lambda x: tg.log_softmax(x, axis=0)),
        (
            lambda x: tg.log(tg.exp(x) / tg.sum(tg.exp(x), axis=1, keepdims=True)),
            lambda x: tg.log_softmax(x, axis=1),
        ),
        (lambda x: tg.sqrt(x**2), tg.absolute),
        (lambda x: tg.log(x * x), lambda x: 2 * tg.log(tg.absolute(x))),
        (lambda x: x - (-x), lambda x: x + x),
        (lambda x: -(x * 3), lambda x: x * -3),
        (lambda x: -(-x * 2) * 0.5, lambda x: x),
        (lambda x: x + tg.zeros_like(x), lambda x: x),
        (lambda x: x * tg.ones_like(x), lambda x: x),
        (lambda x: tg.sum(-x, axis=0), lambda x: -tg.sum(x, axis=0)),
        (lambda x: tg.sum(2 * x), lambda x: tg.sum(x) * 2),
        (lambda x: tg.sum(tg.sum(x, axis=0)), tg.sum),
        (lambda x: x.T.T, lambda x: x),
        (lambda x: tg.squeeze(tg.expand_dims(x, 1), 1), lambda x: x),
    ],
)
def test_a_formula_becomes_its_better_form(before, after, dtype):
    for shape in ((None, None), (3, 4)):
        x = tg.tensor("x", dtype=dtype, shape=shape)
        found = rewrite(FunctionGraph.of([x], [before(x)]), [One(*RULES)], supported=lambda op, types: True)
        wanted = rewrite(FunctionGraph.of([x], [after(x)]), [One(*RULES)], supported=lambda op, types: True)
        assert found == wanted
        assert found.output_types[0].dtype == dtype


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "formula",
    [
        lambda x: 1 / (tg.exp(-x) + 2),
        lambda x: tg.log(x + 1.5),
        lambda x: tg.exp(x) - 1.5,
        lambda x: tg.exp(x) / (tg.exp(x) + 1.5),
        lambda x: tg.sqrt(x) * 3 - tg.square(tg.sqrt(x)),
        lambda x: tg.log(tg.exp(x)),
        lambda x: x / x,
        lambda x: x - x,
        lambda x: x * 0,
        lambda x: tg.exp(x) / tg.sum(tg.exp(2.5 - x), axis=1, keepdims=True),
        lambda x: tg.exp(x) / tg.expand_dims(tg.sum(tg.exp(x), axis=0), 1),
    ],
)
def test_a_formula_that_only_looks_like_one_stays(formula, dtype):
    x = tg.tensor("x", dtype=dtype, shape=(3, 3))
    graph = FunctionGraph.of([x], [formula(x)])
    before = graph.freeze()
    assert rewrite(graph, [One(*RULES)], supported=lambda op, types: True) == before


def test_literals_are_compared_in_the_dtype_of_the_constant():
    rule = tg.rewrite.rule.rule(
        "tenth", match=lambda x: x * 0.1, replace=lambda x: x, phase="canonicalize", kind="exact", why="A test."
    )
    for dtype in FLOATS:
        x = tg.vector("x", dtype=dtype)
        assert apply_rule(rule, [x], [x * 0.1])[1] == 1
        assert apply_rule(rule, [x], [x * 0.2])[1] == 0


def test_a_constant_that_carried_the_shape_leaves_a_broadcast():
    x = tg.tensor("x", shape=(1, 4))
    found, _ = apply_rule(BY_NAME["multiply_by_one"], [x], [x * np.ones((3, 4))])
    assert found == FunctionGraph.of([x], [tg.broadcast_to(x, (3, 4))]).freeze()


def test_gates_stay_where_the_derivative_can_be_nan():
    x = tg.vector("x")
    dy = tg.vector("dy")
    gate = tg.ops.elementwise.arithmetic.gate
    assert apply_rule(BY_NAME["gate_of_finite"], [dy, x], [gate(dy, tg.sigmoid(x))])[1] == 0
    assert apply_rule(BY_NAME["gate_of_finite"], [dy, x], [gate(dy, tg.cast(x > 0, "float64"))])[1] == 1
    assert apply_rule(BY_NAME["gate_of_finite"], [dy, x], [gate(dy, tg.where(x > 0, 1.0, 0.5))])[1] == 1


def test_a_power_of_one_half_is_a_root_where_the_base_is_not_negative():
    x = tg.vector("x")
    found, fired = apply_rule(BY_NAME["power_half_of_positive"], [x], [tg.square(x) ** 0.5])
    assert fired == 1
    assert found == FunctionGraph.of([x], [tg.sqrt(tg.square(x))]).freeze()
    assert apply_rule(BY_NAME["power_half_of_positive"], [x], [x**0.5])[1] == 0


@pytest.mark.parametrize("source", tg.types.dtypes.DTYPES)
@pytest.mark.parametrize("middle", tg.types.dtypes.DTYPES)
def test_a_cast_is_superfluous_only_where_no_value_shows_it(source, middle):
    from tg.ops.elementwise.cast import convert
    from tg.rewrite.rules.elementwise.cast import is_superfluous

    values = {"b": [True, False], "i": [0, 1, -1, 127, 128, -129, 2**31, -(2**31), 2**53 + 1, -(2**63), 2**63 - 1]}
    values["u"] = [abs(v) for v in values["i"]]
    floats = [0.0, -0.0, 1.5, -2.5, 1e-40, 6e4, 7e4, 1e30, -1e30, 1e300, np.inf, -np.inf, np.nan, 2.0**53 + 1]
    kind = numpy_dtype(source).kind
    with np.errstate(all="ignore"):
        x = np.array(values.get(kind, floats)).astype(numpy_dtype(source))
        for target in tg.types.dtypes.DTYPES:
            if is_superfluous(source, middle, target):
                twice = convert(convert(x, middle), target)
                once = convert(x, target)
                np.testing.assert_array_equal(twice.view(np.uint8), once.view(np.uint8))
