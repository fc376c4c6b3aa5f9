"""Functions of SciPy and estimators of scikit-learn with arrays of a backend, beside the same with NumPy's arrays.

Run as a program of its own, `python -m tests.unit.eager.libraries BACKEND`, since both look at `SCIPY_ARRAY_API` when
they are imported. It prints a line for each that differs, and at last the number of those that were compared.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import sys
from typing import Any, Final

import numpy as np
import scipy.cluster
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.signal
import scipy.spatial
import scipy.special
import scipy.stats
from sklearn import config_context, metrics
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import (
    Binarizer,
    KernelCenterer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
)

import tg

FUNCTIONS: Final = (
    "special.entr(x)",
    "special.erf(x)",
    "special.expit(x)",
    "special.gammaln(x)",
    "special.i0(x)",
    "special.i1e(x)",
    "special.log_ndtr(x)",
    "special.logit(x / 4)",
    "special.logsumexp(m, axis=1)",
    "special.softmax(m, axis=0)",
    "special.log_softmax(m, axis=1)",
    "special.ndtr(x)",
    "special.ndtri(x / 4)",
    "special.rel_entr(x, y)",
    "special.xlogy(x, y)",
    "special.betaln(x, y)",
    "special.gammainc(x, y)",
    "special.stdtrit(x, y / 4)",
    "special.betainc(x, y, x / 4)",
    "stats.zscore(x)",
    "stats.zmap(x, y)",
    "stats.skew(x)",
    "stats.kurtosis(m, axis=1)",
    "stats.moment(x, order=3)",
    "stats.describe(x).variance",
    "stats.gmean(x)",
    "stats.hmean(x)",
    "stats.pmean(x, 2)",
    "stats.tmean(x)",
    "stats.tvar(x)",
    "stats.tstd(x)",
    "stats.sem(x)",
    "stats.variation(x)",
    "stats.entropy(x)",
    "stats.differential_entropy(x)",
    "stats.ttest_1samp(x, 0.5).pvalue",
    "stats.ttest_ind(x, y).pvalue",
    "stats.ttest_rel(x, y).statistic",
    "stats.pearsonr(x, y).statistic",
    "stats.jarque_bera(x).statistic",
    "stats.skewtest(z).pvalue",
    "stats.kurtosistest(z).pvalue",
    "stats.normaltest(z).pvalue",
    "stats.chisquare(x, x).statistic",
    "stats.power_divergence(x, x).statistic",
    "stats.bartlett(x, y).statistic",
    "stats.combine_pvalues(x / 4).pvalue",
    "stats.directional_stats(m).mean_direction",
    "stats.circmean(x)",
    "stats.circvar(x)",
    "stats.circstd(x)",
    "stats.rankdata(x)",
    "stats.f_oneway(x, y).pvalue",
    "stats.levene(x, y).statistic",
    "stats.quantile(x, 0.3)",
    "stats.iqr(x)",
    "stats.mannwhitneyu(x, y).statistic",
    "fft.fft(x)",
    "fft.rfft(m)",
    "fft.irfft(x)",
    "fft.fftn(m)",
    "fft.hfft(x)",
    "fft.fftshift(x)",
    "signal.convolve(x, y)",
    "signal.correlate(x, y)",
    "signal.fftconvolve(x, y)",
    "signal.detrend(x)",
    "signal.hilbert(x)",
    "signal.resample(x, 5)",
    "cluster.vq.whiten(m)",
    "cluster.vq.vq(m, m)[0]",
    "cluster.hierarchy.linkage(m)",
    "integrate.trapezoid(x)",
    "integrate.cumulative_trapezoid(x)",
    "spatial.transform.Rotation.from_rotvec(m).as_matrix()",
    "differentiate.derivative(lambda t: t**3, x).df",
    "integrate.tanhsinh(lambda t: t**2, x * 0, x).integral",
    "stats.boxcox_llf(0.5, x)",
    "stats.trim_mean(x, 0.1)",
    "stats.mode(x).mode",
    "stats.gstd(x)",
    "stats.lmoment(x)",
)
"""Of SciPy: calls for vectors x, y and z, and a matrix m."""
IN_COMPLEX128: Final = frozenset((
    "fft.fft(x)", "fft.rfft(m)", "fft.fftn(m)", "signal.fftconvolve(x, y)", "signal.hilbert(x)",
    "signal.resample(x, 5)",
))  # fmt: skip
"""Of these, what computes with a dtype that MLX does not have."""
ESTIMATORS: Final = {
    "PCA": lambda x, y, k: PCA(3, svd_solver="full").fit(x).explained_variance_,
    "PCA by covariance": lambda x, y, k: PCA(3, svd_solver="covariance_eigh").fit(x).explained_variance_ratio_,
    "Ridge": lambda x, y, k: Ridge(solver="svd").fit(x, y).predict(x),
    "RidgeClassifier": lambda x, y, k: RidgeClassifier(solver="svd").fit(x, k).decision_function(x),
    "LinearDiscriminantAnalysis": lambda x, y, k: LinearDiscriminantAnalysis().fit(x, k).decision_function(x),
    "GaussianNB": lambda x, y, k: GaussianNB().fit(x, k).predict_proba(x),
    "LabelEncoder": lambda x, y, k: LabelEncoder().fit_transform(k),
    "KernelCenterer": lambda x, y, k: KernelCenterer().fit_transform(x[:5, :]),
    "Binarizer": lambda x, y, k: Binarizer().fit_transform(x),
    "MaxAbsScaler": lambda x, y, k: MaxAbsScaler().fit_transform(x),
    "MinMaxScaler": lambda x, y, k: MinMaxScaler().fit_transform(x),
    "Normalizer": lambda x, y, k: Normalizer().fit_transform(x),
    "PolynomialFeatures": lambda x, y, k: PolynomialFeatures().fit_transform(x),
    "StandardScaler": lambda x, y, k: StandardScaler().fit_transform(x),
    "rbf_kernel": lambda x, y, k: metrics.pairwise.rbf_kernel(x, x),
    "euclidean_distances": lambda x, y, k: metrics.pairwise.euclidean_distances(x, x),
}
"""Of scikit-learn, fitted to rows (60, 5), numbers (60,) and classes (60,)."""


def faults(name: str, compute: Any, xp: Any, values: dict[str, Any]) -> list[str]:
    """What a computation with arrays of a namespace has other than with NumPy's."""
    expected = compute(**values)
    result = compute(**{key: xp.asarray(value) for key, value in values.items()})
    if not isinstance(result, type(xp.asarray(0.0))):
        return [f"{name}: an array of {type(result).__name__}"]
    try:
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-9, atol=1e-12)
    except AssertionError as error:
        return [f"{name}: {error}"]
    return []


def main(backend: str) -> None:
    """Compare all of both."""
    xp, draw = tg.eager(backend), np.random.default_rng(0)
    values = {
        "x": np.linspace(0.2, 2, 8),
        "y": draw.uniform(0.3, 1.9, 8),
        "m": draw.uniform(0.1, 2, (5, 3)),
        "z": draw.standard_normal(30),
    }
    rows = draw.standard_normal((60, 5))
    numbers = rows @ np.arange(5.0) + 0.1 * draw.standard_normal(60)
    found = []
    for call in FUNCTIONS:
        if call in IN_COMPLEX128 and not hasattr(xp, "complex128"):
            continue
        compute = eval(f"lambda x, y, m, z: scipy.{call}", {"scipy": scipy})
        found += faults(call, compute, xp, values)
    with config_context(array_api_dispatch=True):
        for name, estimator in ESTIMATORS.items():
            found += faults(name, estimator, xp, {"x": rows, "y": numbers, "k": (numbers > 0).astype(int)})
    sys.stdout.write("\n".join([*found, str(len(FUNCTIONS) + len(ESTIMATORS))]))


if __name__ == "__main__":
    main(sys.argv[1])
