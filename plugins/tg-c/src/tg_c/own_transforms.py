"""Fourier transforms as C, for units that no NumPy is near: exported libraries, and processes whose NumPy has no loops.

`tg_dfourier` transforms rows as the loops of `numpy.fft` do. Numbers of points whose prime factors are small are
transformed factor by factor (Stockham: the order comes by itself, without passes that exchange), others are a
convolution with a chirp of a length that has small factors (Bluestein). An even number of real points is half as many
complex ones. The inverse is the transform of the exchanged parts. Roots of unity are sines and cosines of angles of up
to an eighth of a turn in double precision, or products of two such, whatever the dtype is.

All memory is the caller's: `room` says how much for a number of points that is known, and bounds it for others.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, final

from tg_c.routine import Routine
from tg_native.kernels.dtypes import WORDS
from tg_native.loops.transforms import Transforms
from tg_native.plan.values import count

if TYPE_CHECKING:
    from tg.backend import Length
    from tg_c.program import Unit
    from tg_native.kernels.index import Index, Pointer
    from tg_native.loops.kernel import Kernel

LARGEST: Final = 31
"""The largest prime factor that is transformed by sums."""
BOUND: Final = 22
"""No transform of n points needs more than so many numbers for each."""

ROOTS: Final = """\
/* exp(-2 pi i k / n): sine and cosine are of an eighth of a turn at most. */
static __attribute__((unused)) void tg_root(i64 k, i64 n, double *root) {
  const i64 quarter = 4 * k / n, rest = 4 * k % n, near = 2 * rest <= n ? rest : n - rest;
  const double angle = 1.5707963267948966 * (double)near / (double)n;
  const double a = cos(angle), b = sin(angle);
  const double c = near == rest ? a : b, s = near == rest ? b : a;
  root[0] = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
  root[1] = quarter == 0 ? -s : quarter == 1 ? -c : quarter == 2 ? s : c;
}
/* The next radix for a number without those that are left: its smallest factor, but 4 for 2 times 2. */
static __attribute__((unused)) i64 tg_radix(i64 n) {
  if (n % 4 == 0) return 4;
  for (i64 p = 2; p * p <= n; p++)
    if (n % p == 0) return p;
  return n;
}
static __attribute__((unused)) int tg_has_factors(i64 n, i64 largest) { /* none above the largest */
  for (i64 p = 2; p <= largest; p++)
    while (n % p == 0) n /= p;
  return n == 1;
}
"""

# @T is the dtype, @p its letter, @largest the largest prime factor.
TRANSFORMS: Final = """\
typedef struct { i64 points, length, padded; @T *roots, *chirp, *kernel, *padded_roots, *x, *y; } tg_@pplaces;
static __attribute__((unused)) tg_@pplaces tg_@pfourier_places(i64 n, int is_real, @T *room) {
  const i64 m = is_real && n % 2 == 0 ? n / 2 : n;
  i64 padded = 0;
  if (!tg_has_factors(m, @largest))
    for (padded = 2 * m - 1; !tg_has_factors(padded, 5);) padded++;
  tg_@pplaces p = {n, m, padded, room, 0, 0, 0, 0, 0};
  p.chirp = p.roots + 2 * n;
  p.kernel = p.chirp + (padded ? 2 * m : 0);
  p.padded_roots = p.kernel + 2 * padded;
  p.x = p.padded_roots + 2 * padded;
  p.y = p.x + 2 * (padded ? padded : m);
  return p;
}
static __attribute__((unused)) void tg_@proots(i64 n, @T *roots) {
  double near[64], far[2];
  for (i64 k = 0; k < 32 && k < n; k++) tg_root(k, n, near + 2 * k);
  for (i64 first = 0; first < n; first += 32) {
    tg_root(first, n, far);
    for (i64 k = 0; k < 32 && first + k < n; k++) {
      roots[2 * (first + k)] = (@T)(far[0] * near[2 * k] - far[1] * near[2 * k + 1]);
      roots[2 * (first + k) + 1] = (@T)(far[0] * near[2 * k + 1] + far[1] * near[2 * k]);
    }
  }
}
static inline __attribute__((unused)) void tg_@pturned(@T *y, @T re, @T im, const @T *root) {
  y[0] = re * root[0] - im * root[1];
  y[1] = re * root[1] + im * root[0];
}
/* One step of an odd radix p: m sums of s numbers each; `unit` is the root of p * m points among the roots. */
static inline __attribute__((unused, always_inline)) void tg_@podd(i64 p, i64 m, i64 s, i64 unit, const @T *roots,
                                                                  const @T *restrict x, @T *restrict y) {
  const i64 half = (p - 1) / 2;
  @T sum[@largest], less[@largest];
  for (i64 q = 0; q < m; q++)
    for (i64 k = 0; k < s; k++) {
      const @T *from = x + 2 * (s * q + k);
      @T *to = y + 2 * (s * p * q + k), re = from[0], im = from[1];
      for (i64 j = 1; j <= half; j++) {
        const @T *a = from + 2 * s * m * j, *b = from + 2 * s * m * (p - j);
        sum[2 * j - 2] = a[0] + b[0], sum[2 * j - 1] = a[1] + b[1];
        less[2 * j - 2] = a[0] - b[0], less[2 * j - 1] = a[1] - b[1];
        re += sum[2 * j - 2], im += sum[2 * j - 1];
      }
      to[0] = re, to[1] = im;
      for (i64 t = 1; t <= half; t++) {
        @T c0 = from[0], c1 = from[1], s0 = 0, s1 = 0;
        for (i64 j = 1, turn = t; j <= half; j++, turn = turn + t < p ? turn + t : turn + t - p) {
          const @T *root = roots + 2 * unit * m * turn;
          c0 += sum[2 * j - 2] * root[0], c1 += sum[2 * j - 1] * root[0];
          s0 += less[2 * j - 2] * root[1], s1 += less[2 * j - 1] * root[1];
        }
        tg_@pturned(to + 2 * s * t, c0 - s1, c1 + s0, roots + 2 * unit * q * t);
        tg_@pturned(to + 2 * s * (p - t), c0 + s1, c1 - s0, roots + 2 * unit * q * (p - t));
      }
    }
}
/* The transform of n numbers of x, by y; gives which of the two it is in. Its roots are every `step`-th. */
static __attribute__((unused)) @T *tg_@ptransformed(i64 n, i64 step, const @T *roots, @T *x, @T *y) {
  for (i64 s = 1, left = n; left > 1;) {
    const i64 p = tg_radix(left), m = left / p, unit = step * s;
    if (p == 4) {
      for (i64 q = 0; q < m; q++) {
        const @T *one = roots + 2 * unit * q, *two = one + 2 * unit * q, *three = two + 2 * unit * q;
        const @T *restrict from = x + 2 * s * q;
        @T *restrict to = y + 8 * s * q;
        for (i64 k = 0; k < 2 * s; k += 2) {
          const @T *a = from + k, *b = a + 2 * s * m, *c = b + 2 * s * m, *d = c + 2 * s * m;
          const @T e0 = a[0] + c[0], e1 = a[1] + c[1], f0 = a[0] - c[0], f1 = a[1] - c[1];
          const @T g0 = b[0] + d[0], g1 = b[1] + d[1], h0 = b[0] - d[0], h1 = b[1] - d[1];
          to[k] = e0 + g0, to[k + 1] = e1 + g1;
          tg_@pturned(to + k + 2 * s, f0 + h1, f1 - h0, one);
          tg_@pturned(to + k + 4 * s, e0 - g0, e1 - g1, two);
          tg_@pturned(to + k + 6 * s, f0 - h1, f1 + h0, three);
        }
      }
    } else if (p == 2) {
      for (i64 q = 0; q < m; q++)
        for (i64 k = 2 * s * q; k < 2 * s * (q + 1); k += 2) {
          const @T *a = x + k, *b = a + 2 * s * m;
          @T *to = y + k + 2 * s * q;
          to[0] = a[0] + b[0], to[1] = a[1] + b[1];
          tg_@pturned(to + 2 * s, a[0] - b[0], a[1] - b[1], roots + 2 * unit * q);
        }
    } else if (p == 3) {
      tg_@podd(3, m, s, unit, roots, x, y);
    } else if (p == 5) {
      tg_@podd(5, m, s, unit, roots, x, y);
    } else {
      tg_@podd(p, m, s, unit, roots, x, y);
    }
    @T *const last = x;
    x = y, y = last, left = m, s *= p;
  }
  return x;
}
/* The roots for so many points, and the transform of the chirp where the points need one. */
static __attribute__((unused)) void tg_@pfourier_begin(i64 n, int is_real, @T *room) {
  if (n < 1) return;
  const tg_@pplaces p = tg_@pfourier_places(n, is_real, room);
  tg_@proots(n, p.roots);
  if (!p.padded) return;
  tg_@proots(p.padded, p.padded_roots);
  for (i64 k = 0; k < 2 * p.padded; k++) p.x[k] = 0;
  for (i64 k = 0, square = 0; k < p.length; square = (square + 2 * k + 1) % (2 * p.length), k++) {
    double root[2];
    tg_root(square, 2 * p.length, root);
    p.chirp[2 * k] = (@T)root[0], p.chirp[2 * k + 1] = (@T)root[1];
    @T *const one = p.x + 2 * k, *const other = p.x + 2 * (k ? p.padded - k : 0);
    one[0] = other[0] = p.chirp[2 * k], one[1] = other[1] = -p.chirp[2 * k + 1];
  }
  const @T *kernel = tg_@ptransformed(p.padded, 1, p.padded_roots, p.x, p.y);
  for (i64 k = 0; k < 2 * p.padded; k++) p.kernel[k] = kernel[k] / (@T)p.padded;
}
/* The transform of what stands in x. */
static __attribute__((unused)) @T *tg_@pfourier_of(const tg_@pplaces *p) {
  @T *x = p->x, *y = p->y, root[2];
  if (!p->padded) return tg_@ptransformed(p->length, p->points / p->length, p->roots, x, y);
  for (i64 k = 0; k < p->length; k++) tg_@pturned(x + 2 * k, x[2 * k], x[2 * k + 1], p->chirp + 2 * k);
  for (i64 k = 2 * p->length; k < 2 * p->padded; k++) x[k] = 0;
  x = tg_@ptransformed(p->padded, 1, p->padded_roots, x, y);
  y = x == y ? p->x : y;
  for (i64 k = 0; k < p->padded; k++) { /* parts exchanged: what follows is the inverse */
    tg_@pturned(root, x[2 * k], x[2 * k + 1], p->kernel + 2 * k);
    x[2 * k] = root[1], x[2 * k + 1] = root[0];
  }
  x = tg_@ptransformed(p->padded, 1, p->padded_roots, x, y);
  for (i64 k = 0; k < p->length; k++) tg_@pturned(x + 2 * k, x[2 * k + 1], x[2 * k], p->chirp + 2 * k);
  return x;
}
static inline __attribute__((unused)) void tg_@pput(char *y, @T re, @T im, @T factor) {
  ((@T *)(void *)y)[0] = re * factor, ((@T *)(void *)y)[1] = im * factor;
}
/* Rows as a loop of numpy.fft has them: three counts, five distances in bytes, and a factor. */
static __attribute__((unused)) void tg_@pfourier(int is_real, int is_inverse, const @T *first, const @T *factor,
                                                 @T *result, const i64 *counts, const i64 *steps, @T *room) {
  const i64 n = is_real && !is_inverse ? counts[1] : counts[2], from = steps[3], to = steps[4];
  if (n < 1) return;
  const tg_@pplaces p = tg_@pfourier_places(n, is_real, room);
  const i64 m = p.length, half = n / 2;
  const @T scale = factor[0];
  for (i64 row = 0; row < counts[0]; row++) {
    const char *const x = (const char *)first + row * steps[0];
    char *const y = (char *)result + row * steps[2];
    @T *z = p.x;
    if (!is_real) {
      for (i64 k = 0; k < n; k++) {
        const @T *value = (const @T *)(const void *)(x + k * from);
        z[2 * k] = value[is_inverse], z[2 * k + 1] = value[!is_inverse];
      }
      z = tg_@pfourier_of(&p);
      for (i64 k = 0; k < n; k++) tg_@pput(y + k * to, z[2 * k + is_inverse], z[2 * k + !is_inverse], scale);
    } else if (!is_inverse) {
      for (i64 k = 0; k < n; k++) {
        const @T value = *(const @T *)(const void *)(x + k * from);
        if (m == n) z[2 * k] = value, z[2 * k + 1] = 0;
        else z[k] = value;
      }
      z = tg_@pfourier_of(&p);
      tg_@pput(y, m == n ? z[0] : z[0] + z[1], 0, scale);
      for (i64 k = 1; k <= half; k++) {
        if (m == n) {
          tg_@pput(y + k * to, z[2 * k], z[2 * k + 1], scale);
        } else if (k == m) {
          tg_@pput(y + k * to, z[0] - z[1], 0, scale);
        } else { /* even points are the half that is its own conjugate from the far end, odd ones the other */
          const @T *a = z + 2 * k, *b = z + 2 * (m - k);
          @T odd[2];
          tg_@pturned(odd, (a[1] + b[1]) / 2, (b[0] - a[0]) / 2, p.roots + 2 * k);
          tg_@pput(y + k * to, (a[0] + b[0]) / 2 + odd[0], (a[1] - b[1]) / 2 + odd[1], scale);
        }
      }
    } else {
      const @T *last = (const @T *)(const void *)(x + half * from), *zeroth = (const @T *)(const void *)x;
      if (m == n) {
        z[0] = 0, z[1] = zeroth[0];
        for (i64 k = 1; k <= half; k++) {
          const @T *a = (const @T *)(const void *)(x + k * from);
          z[2 * k] = a[1], z[2 * k + 1] = a[0];
          z[2 * (n - k)] = -a[1], z[2 * (n - k) + 1] = a[0];
        }
      } else {
        z[0] = zeroth[0] - last[0], z[1] = zeroth[0] + last[0];
        for (i64 k = 1; k < m; k++) {
          const @T *a = (const @T *)(const void *)(x + k * from), *b = (const @T *)(const void *)(x + (m - k) * from);
          @T odd[2]; /* exchanged, as the root of the other sign needs them */
          tg_@pturned(odd, a[1] + b[1], a[0] - b[0], p.roots + 2 * k);
          z[2 * k] = (a[1] - b[1]) + odd[1], z[2 * k + 1] = (a[0] + b[0]) - odd[0];
        }
      }
      z = tg_@pfourier_of(&p);
      for (i64 k = 0; k < n; k++) {
        const @T value = m == n ? z[2 * k + 1] : z[k ^ 1];
        *(@T *)(void *)(y + k * to) = value * scale;
      }
    }
  }
}
"""
KINDS: Final = {"fft": (0, 0), "ifft": (0, 1), "rfft": (1, 0), "rfft_odd": (1, 0), "irfft": (1, 1)}
"""Whether points are real, and whether a transform is an inverse, by the name of a loop."""


def room(n: int | Length, *, is_real: bool) -> int | Length:
    """The numbers of memory for n points: roots, two places for what is transformed, and what a chirp needs."""
    if type(n) is not int:
        return count((n, BOUND))
    length = n // 2 if is_real and n % 2 == 0 else n
    if _has_factors(length, LARGEST):
        return 2 * n + 4 * length
    return 2 * n + 2 * length + 8 * padded(length)


def padded(length: int) -> int:
    """The length of the convolution for so many points: the first without a prime factor above 5 that holds them."""
    return next(k for k in itertools.count(2 * length - 1) if _has_factors(k, 5))


def _has_factors(n: int, largest: int) -> bool:
    """Whether there is no prime factor above the largest."""
    for p in range(2, largest + 1):
        while n > 0 and n % p == 0:
            n //= p
    return n <= 1


@final
class OwnTransforms(Transforms):
    """Calls of the functions for a real dtype."""

    def __init__(self, unit: Unit, dtype: str) -> None:
        self.unit, self.dtype, self.letter = unit, dtype, "d" if dtype == "float64" else "s"
        for name in ("cos", "sin"):
            unit.prelude.libm(name, "float64")
        unit.prelude.need("roots", ROOTS)
        text = TRANSFORMS.replace("@T", WORDS[dtype]).replace("@p", self.letter).replace("@largest", str(LARGEST))
        unit.prelude.need(f"transforms {dtype}", text)

    def room(self, points: int | Length, *, is_real: bool) -> int | Length:
        return room(points, is_real=is_real)

    def begin(self, kernel: Kernel, points: Index, memory: Pointer, *, is_real: bool) -> None:
        self._line(kernel, f"tg_{self.letter}fourier_begin({points.value.text}, {int(is_real)}, {memory.text});")

    def call(
        self,
        kernel: Kernel,
        name: str,
        places: tuple[Pointer, Pointer, Pointer],
        counts: Pointer,
        steps: Pointer,
        memory: Pointer | None,
    ) -> None:
        assert memory is not None
        flags = ", ".join(map(str, KINDS[name]))
        x, factor, y = (place.text for place in places)
        parts = f"const {WORDS[self.dtype]} *"
        call = f"({parts})({x}), {factor}, ({WORDS[self.dtype]} *)({y}), {counts.text}, {steps.text}, {memory.text}"
        self._line(kernel, f"tg_{self.letter}fourier({flags}, {call});")

    @staticmethod
    def _line(kernel: Kernel, text: str) -> None:
        body = kernel.body
        assert isinstance(body, Routine)
        body.line(text)
