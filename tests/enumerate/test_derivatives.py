"""Derivatives at hard points lie in the hull of their limits; `python -m tests.enumerate.derivatives` draws more."""

import math

import numpy as np
import pytest

import tg
from tests.enumerate.derivatives import catalog, judge, oracle
from tests.enumerate.derivatives.__main__ import BAD, told
from tests.enumerate.derivatives.drawn import drawn
from tests.enumerate.derivatives.judge import Program, Seen

PARTS = 5  # of each family, of which one is long, the others nightly
BY_CONVENTION = ("ties", "guards")  # families whose programs multiply or add conventions: they are counted, no more
OPEN = {  # programs that have finite numbers outside the hull: none may join them, and one that is right leaves
    "sum(xlogy(x, flip(x)))",  # by the conventions of x log y and x**y at (0, 0), and of guards
    "power(abs(s), s)",
    "take(x, 0) ** take(x, 1)",
    "logsumexp(log(w) + where(w > 0, p, -inf))",
    *(p.text for p in catalog.kernels() if p.text.startswith("where(")),  # that of sin(r) / r
}


def faults(*programs, kinds=BAD):
    """What is wrong of programs, a line for each kind."""
    seen = Seen()
    for program in programs:
        judge.judge(seen, program)
    assert seen.total("outputs") > 0
    return [*told([f for f in seen.faults if f.kind in kinds])]


def ends(text, inputs, point, place):
    """The hull of the limits of an entry."""
    limits = oracle.limits_at(Program("", text, inputs, ()), point)
    return judge.hull(limits.first[place[0]] if len(place) == 1 else limits.second[place])[:2]


@pytest.mark.parametrize(
    ("text", "inputs", "point", "place", "low", "high"),
    [
        ("abs(s)", catalog.S, (0.0,), (0,), -1, 1),
        ("sqrt(s)", catalog.S, (0.0,), (0,), math.inf, math.inf),
        ("s * log(s)", catalog.S, (0.0,), (0,), -math.inf, -math.inf),
        ("abs(s) ** 1.5", catalog.S, (0.0,), (0, 0), math.inf, math.inf),
        ("sqrt(s) ** 2", catalog.S, (0.0,), (0,), 1, 1),
        ("tanh(s)", catalog.S, (20.0,), (0,), 4 * math.exp(-40), 4 * math.exp(-40)),
        ("sigmoid(s)", catalog.S, (-300.0,), (0, 0), math.exp(-300), math.exp(-300)),
        ("logsumexp(x)", catalog.X, (0.0, 1.0, -math.inf), (2,), 0, 0),
        ("det(A)", catalog.A2, (1.0, 2.0, 2.0, 4.0), (1, 0), 0, 0),
        ("det(A)", catalog.A2, (1.0, 2.0, 2.0, 4.0), (2, 1), -1, -1),
        ("sum(eigvalsh(A) ** 2)", catalog.A2, (2.0, 0.0, 0.0, 2.0), (2, 2), 4, 4),
        (catalog.KERNELS[0].replace("R", "norm(x - z)"), catalog.XZ, (1.0, 2.0, 1.0, 2.0), (2, 0), 5 / 3, 5 / 3),
    ],
)
def test_limits_of_known_derivatives(text, inputs, point, place, low, high):
    np.testing.assert_allclose(ends(text, inputs, point, place), (low, high), rtol=1e-9, atol=1e-12)


def test_the_hull_of_a_norm_holds_the_unit_ball():
    low, high = ends("norm(x)", catalog.X, (0.0, 0.0, 0.0), (0,))
    assert low < -0.9
    assert high > 0.9


@pytest.mark.parametrize(
    ("name", "wrong", "text", "points", "kinds"),
    [
        ("sin", lambda x: tg.stop_gradient(tg.sin(x)), "sin(s) * s", ((1.0,),), {"wrong"}),
        ("tanh", lambda x: tg.tanh(x + 1e-3) - 1e-3, "tanh(s) ** 2", ((0.5,),), {"value"}),
        ("where", lambda c, a, b: c * a + (1 - c) * b, "where(s > 0, log(s), s)", ((-1.0,),), set()),
        ("abs", lambda x: tg.where(x == 0, tg.stop_gradient(x), tg.abs(x)), "abs(s) + 2 * s", ((0.0,),), set()),
        ("abs", lambda x: tg.where(x == 0, -2 * x, tg.abs(x)), "abs(s)", ((0.0,),), {"wrong"}),
        ("log", lambda x: tg.sqrt(x * x) / x * tg.log(x), "log(1 + s * s)", ((0.0,),), set()),
    ],
)
def test_what_is_wrong_is_noticed(name, wrong, text, points, kinds, monkeypatch):
    monkeypatch.setitem(judge.FUNCTIONS, name, wrong)
    seen = Seen()
    judge.judge(seen, Program("", text, catalog.S, points, leaks=True))
    assert {f.kind for f in seen.faults} & {"wrong", "value"} == kinds


def judged(gradients, hessians):
    """The kinds of faults of derivatives of x[0] * x[1] at (1, 2)."""
    program, seen = Program("", "prod(x)", (("x", (2,)),), ()), Seen()
    judge.judge_point(seen, program, (1.0, 2.0), (2.0, gradients, hessians))
    return {f.kind for f in seen.faults}


@pytest.mark.parametrize(
    ("gradient", "hessian", "kinds"),
    [
        ([2.0, 1.0], [[0.0, 1.0], [1.0, 0.0]], set()),
        ([2.0, 1.0 + 1e-6], [[0.0, 1.0], [1.0, 0.0]], {"wrong", "disagree"}),
        ([2.0, math.nan], [[0.0, 1.0], [1.0, 0.0]], {"nan", "disagree"}),
        ([2.0, math.inf], [[0.0, 1.0], [1.0, 0.0]], {"infinite", "disagree"}),
        ([2.0, 1.0], [[0.0, 1.0], [math.nan, 0.0]], {"nan", "asymmetric", "disagree"}),
        ([2.0, 1.0], [[0.0, 1.0], [None, 1e-15]], set()),
    ],
)
def test_verdicts(gradient, hessian, kinds):
    right = [[0.0, 1.0], [1.0, 0.0]]
    assert judged({"grad": [2.0, 1.0], "jvp": gradient}, {"jvp of grad": right, "jvp of jvp": hessian}) == kinds


def test_an_entry_that_its_doubt_cannot_tell_from_0_may_cancel():
    limits = [oracle.Limit("limit", v, 1e-110) for v in (0.0, -1e-190)]
    assert judge.agree(1e-17, 0.0, judge.Scale(1e-190, 0.0), limits)
    assert not judge.agree(1e-17, 0.0, judge.Scale(1e-190, 0.0), [m._replace(doubt=0.0) for m in limits])


X3, S, XZ = catalog.X, catalog.S, catalog.XZ
FOUND = {
    "the second derivative of a kernel of a norm": (
        catalog.KERNELS[0].replace("R", "norm(x - z)"),
        XZ,
        catalog.EQUAL[:1],
    ),
    "a kernel of a root": (catalog.KERNELS[1].replace("R", "sqrt(sum((x - z) ** 2))"), XZ, catalog.EQUAL[:1]),
    "the square of a norm": ("norm(x) ** 2", X3, ((0.0, 0.0, 0.0),)),
    "the square of an absolute value": ("abs(s) ** 2", S, ((0.0,),)),
    "a root in a branch": ("sum(where(x > 0, 1 / sqrt(x), 0.0))", X3, ((-1.0, -2.0, 3.0),)),
    "a logarithm in a branch": ("sum(where(x > 0, log(sqrt(x)), 0.0))", X3, ((-1.0, -2.0, 3.0),)),
    "a product in a branch": ("sum(where(x > 0, sqrt(x) * sin(x), 0.0))", X3, ((-1.0, -2.0, 3.0),)),
    "padded cutpoints": (catalog.ORDINAL, X3, ((0.0, 0.5, 1.0),)),
    "a weight of 0": ("logsumexp(log(w) + p)", catalog.W, ((0.0, 0.5, 0.25, -1.0),)),
    "the square of a singular determinant": ("det(A) ** 2", catalog.A2, catalog.SQUARES2[:3]),
    "a determinant of equal rows": ("det(A) * trace(A)", catalog.A2, ((0.1, 0.3, 0.2, 0.6),)),
    "an infinite slope by a weight that is not asked for": (
        "sum(sqrt(w * p ** 2))",
        catalog.W,
        ((0.0, 0.5, 0.25, -1.0),),
    ),
    "a slope of 0 beside others that are not asked for": ("logsumexp(cbrt(z))", XZ, ((0.0,) * 4,)),
    "a product without a derivative that is not asked for": (
        "power(min(x), log(abs(take(x, 1))))",
        XZ,
        ((0.0,) * 4,),
    ),
    "a quotient by an exponential that overflows": ("s * s / expm1(s ** 2)", S, ((20.0,), (-20.0,), (0.5,))),
    "running products at a kink": ("sum(abs(cumprod(x)))", X3, ((1.0, 1.0, 0.0), (0.0, 1.0, 0.0), (2.0, 0.0, 1.0))),
    "a product of running products at a kink": ("prod(sqrt(cumprod(x) ** 2))", X3, ((1.0, 1.0, 0.0), (0.0,) * 3)),
    "running products of which nothing is asked for": (
        "logsumexp(cumprod(log(w)))",
        catalog.W,
        ((0.0, 0.5, 1.0, -1.0),),
    ),
    "a product of a matrix and a vector at a kink": (
        "sum(abs(matmul(A, z)))",
        (("A", (2, 2)), ("z", (2,))),
        ((1.0, 2.0, 3.0, 4.0, 0.0, 0.0),),
    ),
    "a product of vectors at a kink, in a loop": (
        "sum(abs(map(lambda r: dot(r, z), A)))",
        (("A", (2, 2)), ("z", (2,))),
        ((1.0, 2.0, 3.0, 4.0, 0.0, 0.0),),
    ),
    "shares of an infinite whole": ("logsumexp(1 / w)", (("w", (2,)),), ((0.0, 0.5),)),
    "a simple eigenvalue beside equal ones": ("max(eigvalsh(A + transpose(A)))", catalog.A3, catalog.SQUARES3[2:3]),
    "a function of equal eigenvalues": (catalog.EXPONENTIAL, catalog.A2, ((2.0, 0.0, 0.0, 2.0),)),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_once(name):
    text, inputs, points = FOUND[name]
    assert not faults(Program("found", text, inputs, points, leaks=" in a branch" in name))


def of_family(family):
    return [p for p in catalog.fixed() if p.family == family]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("family", ["kinks", "tails", "orders", "products", "untaken", "loops"])
def test_a_few_programs_of_each_family(family):
    assert not faults(*of_family(family)[3::40], kinds={"leak", "raises", "value"})


@pytest.mark.parametrize(
    "part", [pytest.param(k, marks=pytest.mark.nightly if k else pytest.mark.long) for k in range(PARTS)]
)
@pytest.mark.parametrize("family", dict.fromkeys(p.family for p in catalog.fixed()))
def test_every_program_of_a_family(family, part):
    kinds = ["raises", "leak", "disagree", "asymmetric"]
    kinds += [] if family in BY_CONVENTION else ["wrong", "infinite"]
    programs = [p for p in of_family(family)[part::PARTS] if p.text not in OPEN]
    assert not programs or not faults(*programs, kinds=kinds)


@pytest.mark.long
@pytest.mark.parametrize("text", sorted(OPEN))
def test_a_program_that_is_right_by_now_is_no_longer_open(text):
    (program,) = (p for p in catalog.fixed() if p.text == text)
    assert faults(program)


DRAWN_KINDS = ("raises", "leak", "value", "disagree", "asymmetric")


@pytest.mark.long
def test_drawn_programs():
    assert not faults(*(drawn(k) for k in range(60)), kinds=DRAWN_KINDS)


def test_a_seed_always_draws_the_same_program():
    assert drawn(7) == drawn(7)
