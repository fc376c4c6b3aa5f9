"""`odeint(adjoint="backsolve")`: gradients by the adjoint equation."""

import numpy as np
import pytest

import tg

ODEINT = tg.integrate.odeint
R, Y0, T = tg.scalar("r"), tg.scalar("y0"), tg.vector("t")
OPTIONS = {"rtol": 1e-7, "atol": 1e-7, "max_steps": 500, "adjoint": "backsolve"}


def value(v, at):
    """A value by the reference."""
    return tg.function([*at], v, backend="perform")(*at.values())


def test_gradients_are_those_of_the_closed_form():
    weights = tg.sin(1 + tg.arange(3))
    own = tg.sum(weights * ODEINT(lambda t, y: R * y * (1 - y), Y0, T, **OPTIONS))
    exact = tg.sum(weights * Y0 / (Y0 + (1 - Y0) * tg.exp(-R * (T - T[0]))))
    at = {R: 1.3, Y0: 0.2, T: np.array([0.5, 1.0, 2.5])}
    pairs = zip(*(value([v, *tg.grad(v, [R, Y0, T])], at) for v in (own, exact)), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.long(minutes=1)
def test_second_derivatives_are_those_of_the_closed_form():
    own = ODEINT(lambda t, y: R * y * (1 - y), Y0, T, **OPTIONS | {"max_steps": 40})[-1]
    exact = Y0 / (Y0 + (1 - Y0) * tg.exp(-R * (T[-1] - T[0])))
    at = {R: 1.3, Y0: 0.2, T: np.array([0.5, 2.5])}
    found = []
    for v in (own, exact):
        gradient = tg.grad(v, [R, Y0, T])
        along = gradient[0] + 2 * gradient[1] - gradient[2][0] + 3 * gradient[2][1]
        found.append(value([*tg.grad(along, [R, Y0, T]), tg.jvp(gradient[1], R, 1.0)], at))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.long(minutes=1)
def test_gradients_of_what_is_captured_have_its_structure():
    a, y0 = tg.matrix("a"), tg.vector("y0")
    matrix = np.array([[0.1, 1.0], [-1.0, -0.2]])
    at = {a: matrix, y0: np.array([1.0, -0.5])}
    gradients = []
    for adjoint in ("backsolve", "direct"):
        y = ODEINT(lambda t, y: {"v": a @ y["v"], "s": tg.sum(y["v"])}, {"v": y0, "s": 0.0}, [0.0, 0.5, 1.0],
                   **OPTIONS | {"adjoint": adjoint})  # fmt: skip
        gradients.append(value(tg.grad(tg.sum(y["v"] ** 2) + y["s"][-1], [a, y0]), at))
    for own, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-7)


def test_no_array_has_room_for_the_steps():
    y = ODEINT(lambda t, y: -R * y, Y0, T, **OPTIONS)
    f = tg.function([R, Y0, T], tg.grad(y[-1], R), backend="perform")
    assert "[512" not in tg.to_text(f.graph)
    assert "[513" not in tg.to_text(f.graph)
    direct = ODEINT(lambda t, y: -R * y, Y0, T, **OPTIONS | {"adjoint": "direct"})
    assert "[513" in tg.to_text(tg.function([R, Y0, T], tg.grad(direct[-1], R), backend="perform").graph)


def test_what_it_cannot_do_is_told():
    with pytest.raises(tg.InputError, match="odeint: adjoint: found 'backsolve', needed 'direct' or, of methods whose"):
        ODEINT(lambda t, y: -y, 1.0, [0.0, 1.0], method="rk4", adjoint="backsolve")
    with pytest.raises(tg.InputError, match="odeint: adjoint: found 'symplectic'"):
        ODEINT(lambda t, y: -y, 1.0, [0.0, 1.0], adjoint="symplectic")
    with pytest.raises(tg.DtypeError, match=r"adjoint='backsolve': found complex128\[\], needed a real y0"):
        ODEINT(lambda t, y: -y, 1j, [0.0, 1.0], adjoint="backsolve")
    with pytest.raises(tg.NotDifferentiable, match="forward mode"):
        tg.jvp(ODEINT(lambda t, y: -y, Y0, [0.0, 1.0], adjoint="backsolve")[-1], Y0, 1.0)
