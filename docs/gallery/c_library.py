# %% [markdown]
# # A library in C
#
# A model's log-density and its gradient as a C library without Python: written, built with CMake, and called by a
# program in C that climbs to the top by itself. SciPy finds the same top.

# %%
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import tg

rng = np.random.default_rng(0)
n = 200
x = np.stack([np.ones(n), rng.normal(size=n)], axis=1)
counts = rng.poisson(np.exp(x @ [0.5, 0.8])).astype(float)

# %% [markdown]
# The function: Poisson counts with a logarithmic rate. Lengths are known when the program runs.

# %%
rows = tg.dim("n")
design, seen, w = tg.matrix("x", shape=(rows, 2)), tg.vector("counts", shape=(rows,)), tg.vector("w", shape=(2,))
density = tg.sum(seen * (design @ w) - tg.exp(design @ w))
curvature = tg.hessian(density, w)
f = tg.function(
    [design, seen, w], {"density": density, "step": tg.linalg.solve(-curvature, tg.grad(density, w))}, name="poisson"
)
folder = Path(tempfile.mkdtemp())
tg.export(f, folder / "poisson", "c", example={"x": x[:9], "counts": counts[:9], "w": np.array([0.1, 0.2])})
header = (folder / "poisson/poisson.h").read_text()
print(header[header.index("typedef struct poisson_inputs") :].partition("int poisson_run")[0][:900])

# %% [markdown]
# A program in C that makes Newton's steps with it.

# %%
(folder / "climb.c").write_text("""
#include <stdio.h>
#include <stdlib.h>
#include "poisson.h"

int main(void) {
  enum { N = 200 };
  static double x[2 * N], counts[N];
  double w[2] = {0, 0}, step[2], density;
  FILE *file = fopen("data.bin", "rb");
  if (!file || fread(x, sizeof *x, 2 * N, file) != 2 * N || fread(counts, sizeof *counts, N, file) != N) return 1;
  const poisson_lengths lengths = {.n = N};
  const poisson_inputs inputs = {.x = x, .counts = counts, .w = w};
  const poisson_outputs outputs = {.density = &density, .step = step};
  const int64_t size = poisson_arena_bytes(&lengths);
  void *arena = malloc(size > 0 ? (size_t)size : 1);
  for (int k = 0; k < 9; k++) {
    const int code = poisson_run(&lengths, &inputs, &outputs, arena, size, NULL);
    if (code != POISSON_OK) return fprintf(stderr, "%s\\n", poisson_error_text(code)), 2;
    printf("%.17g %.17g %.17g\\n", w[0], w[1], density);
    w[0] += step[0], w[1] += step[1];
  }
  free(arena);
  return 0;
}
""")
(folder / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.16)
project(climb LANGUAGES C)
add_subdirectory(poisson)
add_executable(climb climb.c)
target_link_libraries(climb PRIVATE poisson::poisson)
""")
(folder / "data.bin").write_bytes(x.tobytes() + counts.tobytes())
for command in (["cmake", "-B", "build"], ["cmake", "--build", "build"]):
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
said = subprocess.run([folder / "build/climb"], cwd=folder, check=True, capture_output=True, text=True).stdout
path = np.array([line.split() for line in said.splitlines()], float)
print(said)

# %% [markdown]
# The golden values of the library, by its own test, and the top by SciPy.

# %%
golden = subprocess.run(["build/poisson/poisson_main"], cwd=folder, check=True, capture_output=True, text=True)
print(golden.stdout)
theirs = scipy.optimize.minimize(lambda w: np.sum(np.exp(x @ w) - counts * (x @ w)), np.zeros(2), tol=1e-10)
print(path[-1, :2], theirs.x)
assert np.allclose(path[-1, :2], theirs.x, atol=1e-5)
assert np.isclose(path[-1, 2], -theirs.fun, rtol=1e-10)

# %%
u, v = np.meshgrid(np.linspace(-0.3, 1.6, 120), np.linspace(-0.3, 1.6, 120))
rates = np.stack([u, v], axis=-1) @ x.T
fig, ax = plt.subplots()
ax.contour(
    u, v, (counts * rates - np.exp(rates)).sum(-1), levels=np.linspace(-600, 0, 20) + path[-1, 2], linewidths=0.8
)
ax.plot(path[:, 0], path[:, 1], "ko-", ms=3, lw=0.8)
ax.set(xlabel="w[0]", ylabel="w[1]", title="Newton's steps, made in C")
