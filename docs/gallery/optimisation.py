# %% [markdown]
# # Optimisation, inside of programs and outside
#
# Rosenbrock's valley by tg's solvers and by SciPy's with tg's derivatives, a problem with constraints, and the
# derivative of a solution by what the problem is made of.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import tg

x, a = tg.vector("x", shape=(2,)), tg.scalar("a")


def valley(x, a):
    return (1 - x[0]) ** 2 + a * (x[1] - x[0] ** 2) ** 2


# %% [markdown]
# Three methods of `tg.optimize`, which are expressions, and SciPy's with a compiled value, gradient and Hessian.

# %%
start = np.array([-1.2, 1.0])
for method in ("BFGS", "L-BFGS", "Newton-CG"):
    found = tg.function([a], tg.optimize.minimize(lambda v: valley(v, a), start, method, tol=1e-8), backend="c")(100.0)
    print(f"{method:10} {found.x.round(8)} in {found.evaluations} evaluations")
    assert np.allclose(found.x, 1, atol=1e-6)

f = tg.function([x, a], [valley(x, a), tg.grad(valley(x, a), x)], backend="c")
hessian = tg.function([x, a], tg.hessian(valley(x, a), x), backend="c")
path = [start]
theirs = scipy.optimize.minimize(f, start, (100.0,), "trust-exact", jac=True, hess=hessian, callback=path.append)
assert np.allclose(f(start, 100.0)[1], scipy.optimize.rosen_der(start))
assert np.allclose(hessian(start, 100.0), scipy.optimize.rosen_hess(start))
assert np.allclose(theirs.x, 1, atol=1e-6)

# %% [markdown]
# A constraint goes through SciPy, with its Jacobian from tg: the nearest to the valley's end within a disc.

# %%
disc = tg.function([x], [1 - tg.sum(x**2)], backend="c")
edge = tg.function([x], tg.grad(1 - tg.sum(x**2), x), backend="c")
inside = scipy.optimize.minimize(
    f, [0.0, 0.0], (100.0,), "SLSQP", jac=True, constraints={"type": "ineq", "fun": lambda v: disc(v)[0], "jac": edge}
)
value, slope = f(inside.x, 100.0)
print(inside.x, "on the edge, where both gradients are parallel")
assert np.isclose(np.sum(inside.x**2), 1, atol=1e-6)
assert np.isclose(slope[0] * edge(inside.x)[1], slope[1] * edge(inside.x)[0], rtol=1e-2)

# %% [markdown]
# A solution is differentiable by its parameters, whatever steps led there: here the top of a quadratic whose place
# hangs on `a`, against the derivative of the solution in closed form.

# %%
matrix = np.array([[3.0, 1.0], [1.0, 2.0]])
bowl = tg.optimize.minimize(lambda v: 0.5 * v @ matrix @ v + 0.5 * a * tg.sum(v**2) - v[0], np.zeros(2), tol=1e-10).x
ours = tg.function([a], [bowl, tg.jvp(bowl, a, tg.constant(1.0))])(0.7)
shifted = matrix + 0.7 * np.eye(2)
exact = np.linalg.solve(shifted, [1.0, 0.0])
assert np.allclose(ours[0], exact, atol=1e-8)
assert np.allclose(ours[1], -np.linalg.solve(shifted, exact), atol=1e-7)

# %%
u, v = np.meshgrid(np.linspace(-1.6, 1.6, 200), np.linspace(-0.6, 1.6, 200))
fig, ax = plt.subplots()
ax.contour(u, v, valley((u, v), 100.0), levels=np.logspace(-0.5, 3, 12), cmap="viridis", linewidths=0.8)
ax.plot(*np.array(path).T, ".-", lw=1, label="SciPy's steps with tg's Hessian")
ax.plot(*inside.x, "r*", ms=9, label="in the disc")
ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="r", lw=0.8))
ax.set(xlim=(-1.6, 1.6), ylim=(-0.6, 1.6), xlabel="first", ylabel="second")
ax.legend()
