/* Recurrences of many chains: some vectors of them run all steps, forward and, for the gradient, back, before the next
   ones begin. All that they carry is in registers as far as there are any, and what the way back reads is kept for these
   chains alone. Every operation rounds, as in NumPy. */

#pragma GCC optimize("fp-contract=off")

#include <string.h>

typedef double v4 __attribute__((vector_size(32)));

static inline v4 load(const double *at) { v4 v; memcpy(&v, at, sizeof v); return v; }
static inline void store(double *at, v4 v) { memcpy(at, &v, sizeof v); }
static inline v4 all(double x) { return (v4){x, x, x, x}; }

#define ALL _Pragma("GCC unroll 8") for (int k = 0; k < U; k++)
/* Runs of U vectors; the last begins where it ends with the chains, some of which it runs again. */
#define RUNS(m) for (long next = 0, at; next < m && (at = next + 4 * U <= m ? next : m - 4 * U, 1); next += 4 * U)

void sir_ar2_chains(double *value, const double *beta_, const double *gamma_, const double *phi1_, const double *phi2_,
                    const double *y, long n, long m)
{
    enum { U = 4 };
    RUNS(m) {
        v4 beta[U], gamma[U], phi1[U], phi2[U], s[U], i[U], a[U], b[U], v[U];
        ALL beta[k] = load(beta_ + at + 4 * k), gamma[k] = load(gamma_ + at + 4 * k);
        ALL phi1[k] = load(phi1_ + at + 4 * k), phi2[k] = load(phi2_ + at + 4 * k);
        ALL s[k] = all(0.99), i[k] = all(0.01), a[k] = all(0.1), b[k] = all(0.2), v[k] = all(0);
        for (long t = 0; t < n; t++)
            ALL {
                const v4 exposed = beta[k] * s[k] * i[k], recovered = gamma[k] * i[k];
                s[k] -= exposed, i[k] += exposed - recovered;
                const v4 z = phi1[k] * a[k] + phi2[k] * b[k], mean = i[k] + z, error = y[t] - mean;
                b[k] = a[k], a[k] = mean * 0.1 + z, v[k] -= 0.5 * (error * error);
            }
        ALL store(value + at + 4 * k, v[k]);
    }
}

void sir_ar2_chains_gradient(double *value, double *d_beta, double *d_gamma, double *d_phi1, double *d_phi2,
                             double *room, const double *beta_, const double *gamma_, const double *phi1_,
                             const double *phi2_, const double *y, long n, long m)
{
    enum { U = 2 };
    RUNS(m) {
        v4 beta[U], gamma[U], phi1[U], phi2[U], s[U], i[U], a[U], b[U], v[U];
        ALL beta[k] = load(beta_ + at + 4 * k), gamma[k] = load(gamma_ + at + 4 * k);
        ALL phi1[k] = load(phi1_ + at + 4 * k), phi2[k] = load(phi2_ + at + 4 * k);
        ALL s[k] = all(0.99), i[k] = all(0.01), a[k] = all(0.1), b[k] = all(0.2), v[k] = all(0);
        for (long t = 0; t < n; t++)
            ALL {
                double *kept = room + 20 * (U * t + k);
                store(kept, s[k]), store(kept + 4, i[k]), store(kept + 8, a[k]), store(kept + 12, b[k]);
                const v4 exposed = beta[k] * s[k] * i[k], recovered = gamma[k] * i[k];
                s[k] -= exposed, i[k] += exposed - recovered;
                const v4 z = phi1[k] * a[k] + phi2[k] * b[k], mean = i[k] + z, error = y[t] - mean;
                store(kept + 16, error);
                b[k] = a[k], a[k] = mean * 0.1 + z, v[k] -= 0.5 * (error * error);
            }
        v4 ds[U], di[U], da[U], db[U], by_beta[U], by_gamma[U], by_phi1[U], by_phi2[U];
        ALL ds[k] = di[k] = da[k] = db[k] = by_beta[k] = by_gamma[k] = by_phi1[k] = by_phi2[k] = all(0);
        for (long t = n - 1; t >= 0; t--)
            ALL {
                const double *kept = room + 20 * (U * t + k);
                const v4 s0 = load(kept), i0 = load(kept + 4), a0 = load(kept + 8), b0 = load(kept + 12);
                const v4 d_mean = 0.1 * da[k] + load(kept + 16), d_z = da[k] + d_mean;
                const v4 d_i = di[k] + d_mean, d_exposed = d_i - ds[k], through = d_exposed * i0;
                by_beta[k] += through * s0, by_gamma[k] -= d_i * i0, by_phi1[k] += d_z * a0, by_phi2[k] += d_z * b0;
                ds[k] += through * beta[k];
                di[k] = d_i * (1 - gamma[k]) + d_exposed * (beta[k] * s0);
                da[k] = db[k] + d_z * phi1[k], db[k] = d_z * phi2[k];
            }
        ALL store(value + at + 4 * k, v[k]), store(d_beta + at + 4 * k, by_beta[k]);
        ALL store(d_gamma + at + 4 * k, by_gamma[k]), store(d_phi1 + at + 4 * k, by_phi1[k]);
        ALL store(d_phi2 + at + 4 * k, by_phi2[k]);
    }
}

void ar1_chains(double *value, const double *phi_, const double *x, long n, long m)
{
    enum { U = 4 };
    RUNS(m) {
        v4 phi[U], s[U], v[U];
        ALL phi[k] = load(phi_ + at + 4 * k), s[k] = all(0), v[k] = all(0);
        for (long t = 0; t < n; t++)
            ALL s[k] = phi[k] * s[k] + x[t], v[k] += s[k] * s[k];
        ALL store(value + at + 4 * k, v[k]);
    }
}

void ar1_chains_gradient(double *value, double *d_phi, double *room, const double *phi_, const double *x, long n,
                         long m)
{
    enum { U = 4 };
    RUNS(m) {
        v4 phi[U], s[U], v[U], ds[U], by_phi[U], after[U];
        ALL phi[k] = load(phi_ + at + 4 * k), s[k] = all(0), v[k] = all(0);
        for (long t = 0; t < n; t++)
            ALL store(room + 4 * (U * t + k), s[k]), s[k] = phi[k] * s[k] + x[t], v[k] += s[k] * s[k];
        ALL ds[k] = by_phi[k] = all(0), after[k] = s[k];
        for (long t = n - 1; t >= 0; t--)
            ALL {
                const v4 d = ds[k] + 2 * after[k];
                after[k] = load(room + 4 * (U * t + k)), by_phi[k] += d * after[k], ds[k] = d * phi[k];
            }
        ALL store(value + at + 4 * k, v[k]), store(d_phi + at + 4 * k, by_phi[k]);
    }
}
