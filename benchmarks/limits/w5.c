/* w5: a normal log-density, summed, and its gradient in mu and log(sigma), in one pass. */

#include "vectors.h"

void normal(double *value, double *d_mu, double *d_log_sigma, const double *mu, const double *log_sigma,
            const double *x, long n)
{
    double m = *mu, scale = exp(-*log_sigma);
    V s = {0}, t = {0}, u = {0}, v = {0}; /* sums of z */
    V a = {0}, b = {0}, c = {0}, d = {0}; /* of its squares */
    long i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
        V p = (load(x + i) - m) * scale, q = (load(x + i + W) - m) * scale;
        V r = (load(x + i + 2 * W) - m) * scale, w = (load(x + i + 3 * W) - m) * scale;
        s += p, t += q, u += r, v += w;
        a += p * p, b += q * q, c += r * r, d += w * w;
    }
    double sum = total((s + t) + (u + v)), squares = total((a + b) + (c + d));
    for (; i < n; i++) {
        double z = (x[i] - m) * scale;
        sum += z;
        squares += z * z;
    }
    *value = -0.5 * squares - n * *log_sigma;
    *d_mu = sum * scale;
    *d_log_sigma = squares - n;
}
