/* w7: -0.5 * sum((y - (mu[idx] * x + a[idx]))**2), and its gradients in mu and a. */

#include "vectors.h"

static inline V gather(const double *from, const long *at)
{
    V v;
    for (long k = 0; k < W; k++)
        v[k] = from[at[k]];
    return v;
}

void grouped(double *value, const double *mu, const double *a, const long *idx, const double *x, const double *y,
             long n)
{
    V p = {0}, q = {0};
    long i = 0;
    for (; i + 2 * W <= n; i += 2 * W) {
        V e = load(y + i) - (gather(mu, idx + i) * load(x + i) + gather(a, idx + i));
        V f = load(y + i + W) - (gather(mu, idx + i + W) * load(x + i + W) + gather(a, idx + i + W));
        p += e * e;
        q += f * f;
    }
    double sum = total(p + q);
    for (; i < n; i++) {
        double e = y[i] - (mu[idx[i]] * x[i] + a[idx[i]]);
        sum += e * e;
    }
    *value = -0.5 * sum;
}

void grouped_gradient(double *value, double *d_mu, double *d_a, const double *mu, const double *a, const long *idx,
                      const double *x, const double *y, long n, long groups)
{
    double sum = 0, more = 0;
    memset(d_mu, 0, groups * sizeof(double));
    memset(d_a, 0, groups * sizeof(double));
    long i = 0;
    for (; i + 2 <= n; i += 2) {
        long g = idx[i], h = idx[i + 1];
        double e = y[i] - (mu[g] * x[i] + a[g]), f = y[i + 1] - (mu[h] * x[i + 1] + a[h]);
        sum += e * e;
        more += f * f;
        d_mu[g] += e * x[i];
        d_a[g] += e;
        d_mu[h] += f * x[i + 1];
        d_a[h] += f;
    }
    for (; i < n; i++) {
        double e = y[i] - (mu[idx[i]] * x[i] + a[idx[i]]);
        sum += e * e;
        d_mu[idx[i]] += e * x[i];
        d_a[idx[i]] += e;
    }
    *value = -0.5 * (sum + more);
}

/* The same where equal indices stand together: a group's sums stay in registers until it ends. */
void grouped_gradient_sorted(double *value, double *d_mu, double *d_a, const double *mu, const double *a,
                             const long *idx, const double *x, const double *y, long n, long groups)
{
    double sum = 0;
    memset(d_mu, 0, groups * sizeof(double));
    memset(d_a, 0, groups * sizeof(double));
    for (long i = 0; i < n;) {
        long g = idx[i], end = i + 1;
        while (end < n && idx[end] == g)
            end++;
        double slope = mu[g], offset = a[g], by_x = 0, plain = 0, squares = 0;
        V v = {0}, w = {0}, u = {0};
        for (; i + W <= end; i += W) {
            V e = load(y + i) - (slope * load(x + i) + offset);
            v += e * load(x + i), w += e, u += e * e;
        }
        for (; i < end; i++) {
            double e = y[i] - (slope * x[i] + offset);
            by_x += e * x[i], plain += e, squares += e * e;
        }
        d_mu[g] += by_x + total(v);
        d_a[g] += plain + total(w);
        sum += squares + total(u);
    }
    *value = -0.5 * sum;
}
