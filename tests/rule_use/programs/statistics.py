"""Statistics: log-likelihoods, tests and summaries, as papers and the manuals of R, Stan and SciPy write them."""

import math

import tg
from tests.replay.program import program

S, M, B, I = "float64[]", "float64[?, ?]", "bool[?]", "int64[?]"


def huber(beta, x, y):
    """Robust regression by Huber's loss (Huber 1964; statsmodels RLM)."""
    r = y - x @ beta
    a = tg.abs(r)
    return tg.sum(tg.where(a <= 1.345, r**2 / 2, 1.345 * (a - 1.345 / 2)))


def tukey(beta, x, y):
    """Robust regression by Tukey's biweight (statsmodels RLM)."""
    r = tg.abs((y - x @ beta) / 4.685)
    return tg.sum(tg.where(r <= 1, (1 - (1 - r**2) ** 3) / 6, 1 / 6))


def student(beta, log_nu, x, y):
    """Robust regression by Student's t (Stan User's Guide, sec. 1.3)."""
    nu = tg.exp(log_nu) + 2
    r = y - x @ beta
    norm = tg.gammaln((nu + 1) / 2) - tg.gammaln(nu / 2) - 0.5 * tg.log(nu * math.pi)
    return tg.sum(norm - (nu + 1) / 2 * tg.log1p(r**2 / nu))


def weibull_survival(t, event, log_shape, log_scale):
    """Censored Weibull times (Klein and Moeschberger, sec. 12.2)."""
    k, scale = tg.exp(log_shape), tg.exp(log_scale)
    z = (t / scale) ** k
    return tg.sum(event * (tg.log(k / scale) + (k - 1) * tg.log(t / scale)) - z)


def cox(beta, x, event):
    """Cox's partial likelihood of rows in the order of time (Cox 1972; Breslow's ties)."""
    eta = x @ beta
    risk = tg.flip(tg.cumsum(tg.flip(tg.exp(eta), 0), axis=0), 0)
    return tg.sum(event * (eta - tg.log(risk)))


def kaplan_meier(deaths, at_risk):
    """The product limit and Greenwood's error (Kaplan and Meier 1958)."""
    s = tg.cumprod(1 - deaths / at_risk)
    return s, s * tg.sqrt(tg.cumsum(deaths / (at_risk * (at_risk - deaths)))), -tg.log(s)


def log_normal_survival(t, event, mu, log_sigma):
    """Censored lognormal times by the survival function (lifelines, LogNormalFitter)."""
    z = (tg.log(t) - mu) / tg.exp(log_sigma)
    density = -tg.log(t) - log_sigma - 0.5 * math.log(2 * math.pi) - z**2 / 2
    return tg.sum(event * density + (1 - event) * tg.log(1 - 0.5 * (1 + tg.erf(z / math.sqrt(2)))))


def tobit(beta, log_sigma, x, y):
    """Regression of what is cut off at 0 (Tobin 1958)."""
    sigma, mu = tg.exp(log_sigma), x @ beta
    inside = -0.5 * ((y - mu) / sigma) ** 2 - tg.log(sigma)
    return tg.sum(tg.where(y > 0, inside, tg.log(tg.ndtr(-mu / sigma))))


def probit(beta, x, y):
    """Probit regression (Bliss 1934)."""
    p = 0.5 * tg.erfc(-(x @ beta) / math.sqrt(2))
    return tg.sum(y * tg.log(p) + (1 - y) * tg.log(1 - p))


def ordinal(eta, cut, k):
    """Proportional odds (McCullagh 1980; Stan's ordered_logistic)."""
    upper = 1 / (1 + tg.exp(-(tg.take(cut, k + 1) - eta)))
    lower = 1 / (1 + tg.exp(-(tg.take(cut, k) - eta)))
    return tg.sum(tg.log(upper - lower))


def zero_inflated(y, log_rate, logit_pi):
    """A Poisson with additional zeros (Lambert 1992)."""
    pi, rate = tg.sigmoid(logit_pi), tg.exp(log_rate)
    poisson = y * log_rate - rate - tg.gammaln(y + 1)
    return tg.sum(tg.where(y > 0, tg.log(1 - pi) + poisson, tg.log(pi + (1 - pi) * tg.exp(-rate))))


def negative_binomial(y, log_mu, log_alpha):
    """Counts by mean and dispersion (Cameron and Trivedi, NB2)."""
    mu, r = tg.exp(log_mu), 1 / tg.exp(log_alpha)
    norm = tg.gammaln(y + r) - tg.gammaln(r) - tg.gammaln(y + 1)
    return tg.sum(norm + r * tg.log(r / (r + mu)) + y * tg.log(mu / (r + mu)))


def beta_regression(y, beta, log_phi, x):
    """Regression of shares (Ferrari and Cribari-Neto 2004)."""
    mu, phi = 1 / (1 + tg.exp(-(x @ beta))), tg.exp(log_phi)
    a, b = mu * phi, (1 - mu) * phi
    norm = tg.gammaln(a + b) - tg.gammaln(a) - tg.gammaln(b)
    return tg.sum(norm + (a - 1) * tg.log(y) + (b - 1) * tg.log(1 - y))


def mixture(y, w, mu, log_sigma):
    """A mixture of normal distributions (Bishop, sec. 9.2), and the responsibilities."""
    sigma = tg.exp(log_sigma)
    p = tg.exp(w) / tg.sum(tg.exp(w))
    n = tg.exp(-0.5 * ((y[:, None] - mu) / sigma) ** 2) / (sigma * tg.sqrt(2 * math.pi))
    joint = p * n
    return tg.sum(tg.log(tg.sum(joint, axis=1))), joint / tg.sum(joint, axis=1, keepdims=True)


def von_mises(theta, mu, log_kappa):
    """Angles around a direction (Mardia and Jupp, sec. 3.5)."""
    kappa = tg.exp(log_kappa)
    return tg.sum(kappa * tg.cos(theta - mu) - tg.log(2 * math.pi * tg.i0(kappa)))


def circular(theta):
    """Mean direction, resultant length, circular variance and deviation (scipy.stats.circmean, circstd)."""
    s, c = tg.mean(tg.sin(theta)), tg.mean(tg.cos(theta))
    r = tg.hypot(s, c)
    return tg.sqrt(-2 * tg.log(r)), tg.arctan2(s, c) % (2 * math.pi), 1 - r, tg.angle(tg.mean(tg.exp(1j * theta)))


def rayleigh_test(theta):
    """Rayleigh's test of uniformity (Zar, ch. 27)."""
    n = tg.cast(theta.shape[0], "float64")
    r = tg.sqrt(tg.sum(tg.cos(theta)) ** 2 + tg.sum(tg.sin(theta)) ** 2)
    return tg.exp(tg.sqrt(1 + 4 * n + 4 * (n**2 - r**2)) - (1 + 2 * n))


def kalman(x, p, z, f, q, h, r):
    """A step of prediction and correction (Welch and Bishop), with the log-likelihood."""
    x, p = f @ x, f @ p @ f.T + q
    y, s = z - h @ x, h @ p @ h.T + r
    k = p @ h.T @ tg.linalg.inv(s)
    ll = -0.5 * (y @ tg.linalg.inv(s) @ y + tg.log(tg.linalg.det(2 * math.pi * s)))
    return ll, x + k @ y, (tg.eye(2) - k @ h) @ p


def gaussian_process(x, y, log_length, log_noise):
    """The marginal likelihood (Rasmussen and Williams, algorithm 2.1), with Matern's kernel."""
    d = tg.abs(x[:, None] - x[None, :]) / tg.exp(log_length)
    k = (1 + math.sqrt(5) * d + 5 * d**2 / 3) * tg.exp(-math.sqrt(5) * d)
    k = k + tg.exp(2 * log_noise) * tg.eye(x.shape[0])
    factor = tg.linalg.cholesky(k)
    a = tg.linalg.solve_triangular(factor.T, tg.linalg.solve_triangular(factor, y, lower=True), lower=False)
    return -0.5 * tg.sum(y * a) - tg.sum(tg.log(tg.diag(factor)))


def periodic_process(x, y, log_length, log_period):
    """Another process: a periodic kernel, by inverse and determinant (MacKay 1998)."""
    d = x[:, None] - x[None, :]
    k = tg.exp(-2 * tg.sin(math.pi * d / tg.exp(log_period)) ** 2 / tg.exp(2 * log_length)) + 0.1 * tg.eye(x.shape[0])
    return -0.5 * y @ tg.linalg.inv(k) @ y - 0.5 * tg.log(tg.linalg.det(k))


def garch(y, w, a, b):
    """GARCH(1, 1) (Bollerslev 1986)."""

    def step(s, v):
        after = w + a * v**2 + b * s
        return after, after

    s = tg.scan(step, tg.var(y), y[:-1])[1]
    return -0.5 * tg.sum(tg.log(2 * math.pi * s) + y[1:] ** 2 / s)


def hidden_markov(log_a, log_b, y):
    """The forward algorithm and Viterbi's path length (Rabiner 1989)."""

    def step(alpha, o):
        return tg.logsumexp(alpha[:, None] + log_a, axis=0) + log_b[:, o], None

    def best(delta, o):
        return tg.max(delta[:, None] + log_a, axis=0) + log_b[:, o], tg.argmax(delta[:, None] + log_a, axis=0)

    start = tg.zeros(3) - math.log(3)
    return tg.logsumexp(tg.scan(step, start, y)[0]), tg.max(tg.scan(best, start, y)[0])


def kl_normals(mu, log_var):
    """The divergence of a variational autoencoder (Kingma and Welling 2014)."""
    return -0.5 * tg.sum(1 + log_var - mu**2 - tg.exp(log_var))


def divergences(p, q):
    """Entropy, Kullback-Leibler, Jensen-Shannon and Hellinger (scipy.spatial.distance.jensenshannon)."""
    p, q = p / tg.sum(p), q / tg.sum(q)
    m = (p + q) / 2
    kl = tg.sum(p * tg.log(p / q))
    js = (tg.sum(p * tg.log(p / m)) + tg.sum(q * tg.log(q / m))) / 2
    return kl, tg.sqrt(js), -tg.sum(p * tg.log2(p)), tg.sqrt(tg.sum((tg.sqrt(p) - tg.sqrt(q)) ** 2)) / math.sqrt(2)


def transforms(x, lam):
    """Box-Cox, Yeo-Johnson, logit, Fisher's z, Anscombe (scipy.stats)."""
    boxcox = (x**lam - 1) / lam
    johnson = tg.where(x >= 0, ((x + 1) ** lam - 1) / lam, -((1 - x) ** (2 - lam) - 1) / (2 - lam))
    p = x / (1 + x)
    return boxcox, johnson, tg.log(p / (1 - p)), 0.5 * tg.log((1 + x) / (1 - x)), 2 * tg.sqrt(x + 3 / 8)


def moments(x):
    """Skewness, kurtosis, coefficient of variation, z-scores, standard error (scipy.stats.describe)."""
    d = x - tg.mean(x)
    m2 = tg.mean(d**2)
    n = tg.cast(x.shape[0], "float64")
    return tg.mean(d**3) / m2**1.5, tg.mean(d**4) / m2**2 - 3, tg.std(x) / tg.mean(x), d / tg.sqrt(m2), tg.sqrt(m2 / n)


def geometric_means(x):
    """Geometric, harmonic and power means (scipy.stats.gmean, hmean, pmean)."""
    return tg.exp(tg.mean(tg.log(x))), 1 / tg.mean(1 / x), tg.mean(x**3) ** (1 / 3), tg.sqrt(tg.mean(x**2))


def correlation(x, y):
    """Pearson's coefficient, its t, and the slope of a line (scipy.stats.linregress)."""
    a, b = x - tg.mean(x), y - tg.mean(y)
    r = tg.sum(a * b) / tg.sqrt(tg.sum(a**2) * tg.sum(b**2))
    return r, r * tg.sqrt((x.shape[0] - 2) / (1 - r**2)), tg.sum(a * b) / tg.sum(a * a)


def bradley_terry(skill, i, j):
    """Wins by differences of skill (Bradley and Terry 1952), and Elo's expectation."""
    d = tg.take(skill, i) - tg.take(skill, j)
    return tg.sum(tg.log(1 / (1 + tg.exp(-d)))), 1 / (1 + 10 ** (-d / 400))


def plackett_luce(theta, order):
    """The likelihood of a ranking (Plackett 1975)."""
    t = tg.take(theta, order)
    return tg.sum(t - tg.flip(tg.logcumsumexp(tg.flip(t, 0), axis=0), 0))


def dirichlet_multinomial(counts, log_alpha):
    """Counts of a topic (Minka 2000)."""
    a = tg.exp(log_alpha)
    n, total = tg.sum(counts, axis=1), tg.sum(a)
    each = tg.sum(tg.gammaln(counts + a) - tg.gammaln(a), axis=1)
    return tg.sum(each + tg.gammaln(total) - tg.gammaln(n + total))


def black_scholes(s, k, t, r, sigma):
    """The price of a call and its delta (Black and Scholes 1973)."""
    d1 = (tg.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * tg.sqrt(t))
    d2 = d1 - sigma * tg.sqrt(t)

    def cdf(x):
        return 0.5 * (1 + tg.erf(x / math.sqrt(2)))

    return s * cdf(d1) - k * tg.exp(-r * t) * cdf(d2), cdf(d1), k * tg.exp(-r * t) * cdf(-d2) - s * cdf(-d1)


def mills(x):
    """The truncated normal's mean, and the correction for selection (Heckman 1979)."""
    density = tg.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return density / tg.ndtr(x), density / (1 - tg.ndtr(x)), tg.log(tg.ndtr(x + 1) - tg.ndtr(x))


def skew_normal(x, alpha):
    """The skew normal density (Azzalini 1985)."""
    return tg.sum(math.log(2) - x**2 / 2 - 0.5 * math.log(2 * math.pi) + tg.log(tg.ndtr(alpha * x)))


def gumbel(x, mu, log_beta):
    """Extreme values: the Gumbel density (Coles 2001)."""
    z = (x - mu) / tg.exp(log_beta)
    return tg.sum(-z - tg.exp(-z) - log_beta), tg.log(1 - tg.exp(-tg.exp(-z)))


def complementary(beta, x, y):
    """Regression with the complementary log-log link (Collett 2003)."""
    p = 1 - tg.exp(-tg.exp(x @ beta))
    return tg.sum(y * tg.log(p) + (1 - y) * tg.log(1 - p))


def logistic_distribution(x, mu, log_s):
    """Density and distribution (scipy.stats.logistic), log-logistic survival."""
    z = (x - mu) / tg.exp(log_s)
    return tg.sum(-z - log_s - 2 * tg.log(1 + tg.exp(-z))), 1 / (tg.exp(z) + 1), tg.tanh(z / 2)


def stick_breaking(v):
    """Weights of a Dirichlet process (Sethuraman 1994)."""
    rest = tg.concatenate([tg.ones(1), tg.cumprod(1 - v)[:-1]])
    return v * rest, tg.cumsum(tg.log(1 - v)), tg.log(v * rest)


def capture(n, k, p):
    """The binomial's log-probability by its coefficient (Seber 1982)."""
    choose = tg.gammaln(n + 1) - tg.gammaln(k + 1) - tg.gammaln(n - k + 1)
    return tg.sum(choose + k * tg.log(p) + (n - k) * tg.log(1 - p)), tg.exp(choose) * p**k * (1 - p) ** (n - k)


def rasch(ability, difficulty):
    """Right and wrong answers (Rasch 1960), and one log-probability out of two (Durbin et al., sec. 3.6)."""
    d = ability - difficulty
    both = tg.maximum(ability, difficulty) + tg.log(1 + tg.exp(-tg.abs(ability - difficulty)))
    return tg.sum(d - tg.log(1 + tg.exp(d))), tg.sum(-tg.log(1 + tg.exp(d))), both


def log1mexp(a):
    """log(1 - exp(-a)) in two pieces (Maechler 2012)."""
    return tg.where(a <= math.log(2), tg.log(-tg.expm1(-a)), tg.log1p(-tg.exp(-a)))


def waiting(x, rate, shape):
    """Both tails of waiting times by the incomplete gamma function (Abramowitz and Stegun, 26.4), and by erf."""
    upper = 1 - tg.gammainc(shape, rate * x)
    return upper, tg.log(upper), 1 - tg.exp(-rate * x), 1 - tg.gammaincc(shape, rate * x), 1 - tg.erfc(x)


def log_squared_returns(r):
    """Logarithms of squared returns, around which volatility moves (Harvey, Ruiz and Shephard 1994)."""
    y = tg.log(r**2)
    return tg.sum((y[1:] - 0.95 * y[:-1]) ** 2), tg.mean(y) + 1.27


def stouffer(log_p, w):
    """Probabilities of several tests as one, by their quantiles (Stouffer et al. 1949; scipy.stats.combine_pvalues)."""
    z = tg.sum(w * tg.ndtri(tg.exp(log_p))) / tg.sqrt(tg.sum(w**2))
    return tg.log(tg.ndtr(z))


PROGRAMS = (
    program("Huber regression", huber, x=M, grad=True),
    program("biweight regression", tukey, x=M, grad=True),
    program("Student regression", student, log_nu=S, x=M, grad=True),
    program("Weibull survival", weibull_survival, log_shape=S, log_scale=S, grad=True),
    program("Cox", cox, x=M, grad=True),
    program("Kaplan-Meier", kaplan_meier, grad=True),
    program("lognormal survival", log_normal_survival, mu=S, log_sigma=S, grad=True),
    program("Tobit", tobit, log_sigma=S, x=M, grad=True),
    program("probit", probit, x=M, grad=True),
    program("ordinal", ordinal, k=I, wrt=("eta", "cut")),
    program("zero-inflated Poisson", zero_inflated, logit_pi=S, grad=True),
    program("negative binomial", negative_binomial, log_alpha=S, grad=True),
    program("beta regression", beta_regression, x=M, log_phi=S, grad=True),
    program("mixture", mixture, grad=True),
    program("von Mises", von_mises, mu=S, log_kappa=S, grad=True),
    program("circular statistics", circular, grad=True),
    program("Rayleigh test", rayleigh_test, grad=True),
    program(
        "Kalman step",
        kalman,
        x="float64[2]",
        p="float64[2, 2]",
        z="float64[1]",
        f="float64[2, 2]",
        q="float64[2, 2]",
        h="float64[1, 2]",
        r="float64[1, 1]",
        grad=True,
    ),
    program("Gaussian process", gaussian_process, log_length=S, log_noise=S, wrt=("log_length", "log_noise")),
    program("periodic process", periodic_process, log_length=S, log_period=S, wrt=("log_length", "log_period")),
    program("GARCH", garch, w=S, a=S, b=S, wrt=("w", "a", "b")),
    program("hidden Markov", hidden_markov, log_a="float64[3, 3]", log_b="float64[3, ?]", y=I, grad=True),
    program("divergence of normals", kl_normals, grad=True),
    program("divergences", divergences, grad=True),
    program("transforms", transforms, lam=S, grad=True),
    program("moments", moments, grad=True),
    program("means", geometric_means, grad=True),
    program("correlation", correlation, grad=True),
    program("Bradley-Terry", bradley_terry, i=I, j=I, grad=True),
    program("Plackett-Luce", plackett_luce, order=I, grad=True),
    program("Dirichlet-multinomial", dirichlet_multinomial, counts=M, grad=True),
    program("Black-Scholes", black_scholes, t=S, r=S, grad=True),
    program("Mills ratio", mills, grad=True),
    program("skew normal", skew_normal, alpha=S, grad=True),
    program("Gumbel", gumbel, mu=S, log_beta=S, grad=True),
    program("complementary log-log", complementary, x=M, grad=True),
    program("logistic distribution", logistic_distribution, mu=S, log_s=S, grad=True),
    program("stick breaking", stick_breaking, grad=True),
    program("capture and recapture", capture, grad=True),
    program("Rasch", rasch, grad=True),
    program("log1mexp", log1mexp, grad=True),
    program("waiting times", waiting, rate=S, shape=S, wrt=("x", "rate")),
    program("stochastic volatility", log_squared_returns, grad=True),
    program("Stouffer", stouffer, grad=True),
)
