/* w2: exp(-(x - 0.3)**2 / (2 * 1.7**2)) * sin(x) + log1p(x**2), in both precisions. */

#include "vectors.h"

static const double factor = -1 / (2 * 1.7 * 1.7);

static inline V doubles(V x)
{
    V d = x - 0.3;
    return exp_down(d * d * factor) * DOUBLES(sin)(x) + DOUBLES(log1p)(x * x);
}

static inline VF floats(VF x)
{
    VF d = x - 0.3f;
    return FLOATS(expf)(d * d * (float)factor) * FLOATS(sinf)(x) + FLOATS(log1pf)(x * x);
}

void transcendental(double *out, const double *x, long n)
{
    long i = 0;
    for (; i + W <= n; i += W)
        store(out + i, doubles(load(x + i)));
    if (i < n) {
        V last = doubles(load_some(x + i, n - i));
        memcpy(out + i, &last, (n - i) * sizeof(double));
    }
}

void transcendental_float(float *out, const float *x, long n)
{
    long i = 0;
    for (; i + WF <= n; i += WF)
        storef(out + i, floats(loadf(x + i)));
    if (i < n) {
        VF last = {0};
        memcpy(&last, x + i, (n - i) * sizeof(float));
        last = floats(last);
        memcpy(out + i, &last, (n - i) * sizeof(float));
    }
}
