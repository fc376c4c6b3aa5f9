/* w3 and w4: softmax and logsumexp of rows whose length is a multiple of a vector's. */

#include "vectors.h"

static double largest(const double *row, long n)
{
    V a = load(row), b = a, c = a, d = a;
    long i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
        a = larger(a, load(row + i));
        b = larger(b, load(row + i + W));
        c = larger(c, load(row + i + 2 * W));
        d = larger(d, load(row + i + 3 * W));
    }
    for (; i < n; i += W)
        a = larger(a, load(row + i));
    a = larger(larger(a, b), larger(c, d));
    double found = a[0];
    for (long k = 1; k < W; k++)
        found = a[k] > found ? a[k] : found;
    return found;
}

void softmax(double *out, const double *x, long rows, long n)
{
    for (const double *row = x; row < x + rows * n; row += n, out += n) {
        double m = largest(row, n);
        V sum = {0};
        for (long i = 0; i < n; i += W) {
            __builtin_prefetch(row + n + i); /* the next row comes while this one is computed */
            V e = exp_down(load(row + i) - m);
            store(out + i, e);
            sum += e;
        }
        double scale = 1 / total(sum);
        for (long i = 0; i < n; i += W)
            store(out + i, load(out + i) * scale);
    }
}

void logsumexp(double *out, const double *x, long rows, long n)
{
    for (const double *row = x; row < x + rows * n; row += n) {
        double m = largest(row, n);
        V sum = {0};
        for (long i = 0; i < n; i += W) {
            __builtin_prefetch(row + n + i);
            sum += exp_down(load(row + i) - m);
        }
        *out++ = m + log(total(sum));
    }
}
