/* w1: sum(x * x), four accumulators. */

#include "vectors.h"

void squares(double *out, const double *x, long n)
{
    V a = {0}, b = {0}, c = {0}, d = {0};
    long i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
        V p = load(x + i), q = load(x + i + W), r = load(x + i + 2 * W), s = load(x + i + 3 * W);
        a += p * p;
        b += q * q;
        c += r * r;
        d += s * s;
    }
    for (; i < n; i += W) {
        V p = load_some(x + i, n - i < W ? n - i : W);
        a += p * p;
    }
    *out = total((a + b) + (c + d));
}
