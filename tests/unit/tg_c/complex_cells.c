/* A complex number whose imaginary part is a constant, in memory and handed on: exits with the count of wrong parts.

With -DWHOLE it is stored as one value, of which -fipa-cp of gcc 11 and 12 takes the constant for what is at the first
place (from -O2 on, the real part that is read is 0.0); else as two parts, as tg-c stores it. */

#define KEPT __attribute__((noinline))
#ifdef WHOLE
#define CELL(F) F _Complex cell[1] = {v};
#else
#define CELL(F) F cell[2] = {__real__(v), __imag__(v)};
#endif

#define CASE(F, ZERO)                                                                                                  \
  KEPT static void scale_##F(F _Complex v, F _Complex *restrict y, long n) {                                           \
    for (long k = 0; k < n; k++) y[k] *= __real__ v;                                                                   \
  }                                                                                                                    \
  KEPT static void add_##F(F _Complex *restrict y, const F _Complex *restrict x, long n) {                             \
    for (long k = 0; k < n; k++) {                                                                                     \
      const F a = ((const F *)x)[0], b = ((const F *)x)[1];                                                            \
      ((F *)(y + k))[0] += a;                                                                                          \
      ((F *)(y + k))[1] += b;                                                                                          \
    }                                                                                                                  \
  }                                                                                                                    \
  KEPT int wrong_##F(F _Complex *y, F re, long n) {                                                                    \
    const F _Complex v = __builtin_complex(re, ZERO);                                                                  \
    scale_##F(v, y, n);                                                                                                \
    CELL(F)                                                                                                            \
    add_##F(y + 1, (void *)cell, n - 1);                                                                               \
    const F *const p = (const F *)(y + 1);                                                                             \
    return (p[0] != 2 * re + re) + (p[1] != 3 * re);                                                                   \
  }

CASE(double, 0.0)
CASE(float, 0.0f)

int main(int argc, char **argv) {
  double _Complex y[2] = {__builtin_complex(0.5, 1.0), __builtin_complex(2.0, 3.0)};
  float _Complex z[2] = {__builtin_complex(0.5f, 1.0f), __builtin_complex(2.0f, 3.0f)};
  return wrong_double(y, 2.5 * argc, 2) + wrong_float(z, 2.5f * argc, 2);
}
