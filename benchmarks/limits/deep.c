/* The chain a, b = tanh(a * 0.9 + b * c), a of 1,335 steps from (x, x / 2), and a + b. A step of all vectors comes
   before the next: each waits for no other. */

#include "vectors.h"

enum { STEPS = 1335, MOST = 1024 };

void deep(double *out, const double *x, long n)
{
    V a[MOST / W] = {0}, b[MOST / W];
    long vectors = (n + W - 1) / W;
    memcpy(a, x, n * sizeof(double));
    for (long i = 0; i < vectors; i++)
        b[i] = a[i] * 0.5;
    for (long k = 0; k < STEPS; k++) {
        double c = 0.1 + 0.01 * (k % 9);
        for (long i = 0; i < vectors; i++) {
            V next = DOUBLES(tanh)(a[i] * 0.9 + b[i] * c);
            b[i] = a[i];
            a[i] = next;
        }
    }
    for (long i = 0; i < vectors; i++)
        a[i] += b[i];
    memcpy(out, a, n * sizeof(double));
}
