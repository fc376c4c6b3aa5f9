/* A function of vectors for each element of an array whose length is a multiple of a vector's. */

#include "vectors.h"

void each_double(V (*f)(V), const double *x, double *out, long n)
{
    for (long i = 0; i < n; i += W)
        store(out + i, f(load(x + i)));
}

void each_float(VF (*f)(VF), const float *x, float *out, long n)
{
    for (long i = 0; i < n; i += WF)
        storef(out + i, f(loadf(x + i)));
}

void each_pair_double(V (*f)(V, V), const double *x, const double *y, double *out, long n)
{
    for (long i = 0; i < n; i += W)
        store(out + i, f(load(x + i), load(y + i)));
}

void each_pair_float(VF (*f)(VF, VF), const float *x, const float *y, float *out, long n)
{
    for (long i = 0; i < n; i += WF)
        storef(out + i, f(loadf(x + i), loadf(y + i)));
}

long bytes(void) { return BYTES; }
