"""Machine learning, ranking, graphs and images: losses, layers and measures as their papers write them."""

import math

import tg
from tests.replay.program import program

S, M, M4, I, IM = "float64[]", "float64[?, ?]", "float64[4, 4]", "int64[?]", "int64[?, ?]"
F32, F32M = "float32[?]", "float32[?, ?]"


def spectral_normalisation(w, u, x):
    """A layer whose norm is 1 by one step of the power method (Miyato et al. 2018)."""
    v = w.T @ u
    v = v / (tg.sqrt(tg.sum(v**2)) + 1e-12)
    wv = w @ v
    u = wv / (tg.sqrt(tg.sum(wv**2)) + 1e-12)
    return tg.sum(tg.tanh(w / (u @ w @ v) @ x))


def layer_norm(x, g, b):
    """Layer normalisation (Ba et al. 2016), and by root mean square (Zhang and Sennrich 2019)."""
    d = x - tg.mean(x, axis=-1, keepdims=True)
    y = d / tg.sqrt(tg.mean(d**2, axis=-1, keepdims=True) + 1e-5) * g + b
    return y, x * (tg.mean(x**2, axis=-1, keepdims=True) + 1e-6) ** -0.5 * g


def attention(q, k, v, mask):
    """Scaled products, masked (Vaswani et al. 2017)."""
    s = q @ k.T / math.sqrt(16)
    s = tg.where(mask, s, -1e9)
    w = tg.exp(s - tg.max(s, axis=-1, keepdims=True))
    return (w / tg.sum(w, axis=-1, keepdims=True)) @ v


def activations(x):
    """GELU both ways, SiLU, Mish, ELU, softsign, hard sigmoid (the PyTorch documentation)."""
    return (
        0.5 * x * (1 + tg.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        0.5 * x * (1 + tg.erf(x / math.sqrt(2))),
        x / (1 + tg.exp(-x)),
        x * tg.tanh(tg.log(1 + tg.exp(x))),
        tg.where(x > 0, x, 0.1 * (tg.exp(x) - 1)),
        x / (1 + tg.abs(x)),
        tg.minimum(tg.maximum(x + 3, 0), 6) / 6,
        tg.maximum(x, 0.01 * x),
    )


def cross_entropy(logits, y):
    """With smoothed labels (Szegedy et al. 2016), written out."""
    p = tg.exp(logits) / tg.sum(tg.exp(logits), axis=1, keepdims=True)
    target = 0.9 * tg.one_hot(y, 4) + 0.1 / 4
    return -tg.mean(tg.sum(target * tg.log(p), axis=1)), tg.mean(tg.cast(tg.equal(tg.argmax(p, axis=1), y), "float64"))


def focal(logit, y):
    """Focal loss (Lin et al. 2017)."""
    p = tg.sigmoid(logit)
    pt = tg.where(y > 0, p, 1 - p)
    return tg.sum(-((1 - pt) ** 2) * tg.log(pt))


def info_nce(a, b):
    """A contrastive loss of pairs (Radford et al. 2021)."""
    a = a / tg.norm(a, axis=1, keepdims=True)
    b = b / tg.norm(b, axis=1, keepdims=True)
    s = a @ b.T / 0.07
    rows = tg.diag(s) - tg.log(tg.sum(tg.exp(s), axis=1))
    return -tg.mean(rows + tg.diag(s) - tg.log(tg.sum(tg.exp(s), axis=0)))


def triplet(a, p, n):
    """Triplet loss, hinge, and cosine similarity (Schroff et al. 2015)."""
    near, far = tg.sqrt(tg.sum((a - p) ** 2, axis=1)), tg.sqrt(tg.sum((a - n) ** 2, axis=1))
    cosine = tg.sum(a * p, axis=1) / (tg.norm(a, axis=1) * tg.norm(p, axis=1))
    return tg.sum(tg.maximum(near - far + 0.2, 0)), cosine


def distances(x, c):
    """Squared distances by products, nearest centres and their means (k-means, Lloyd 1982)."""
    d = tg.sum(x**2, axis=1)[:, None] - 2 * x @ c.T + tg.sum(c**2, axis=1)[None, :]
    nearest = tg.argmin(d, axis=1)
    z = tg.one_hot(nearest, 3)
    return tg.sqrt(tg.maximum(d, 0)), z.T @ x / tg.maximum(tg.sum(z, axis=0)[:, None], 1)


def pagerank(a):
    """Steps of the power method on a graph of links (Page et al. 1999)."""
    p = a / tg.maximum(tg.sum(a, axis=1, keepdims=True), 1)
    r = tg.full(4, 0.25)
    for _ in range(4):
        r = 0.85 * (p.T @ r) + 0.15 / 4
    return r / tg.sum(r)


def graph_laplacian(a, x):
    """A graph convolution by the normalised adjacency (Kipf and Welling 2017)."""
    a = a + tg.eye(4)
    d = tg.diag(1 / tg.sqrt(tg.sum(a, axis=1)))
    return tg.maximum(d @ a @ d @ x, 0), tg.diag(tg.sum(a, axis=1)) - a


def floyd_warshall(d):
    """Shortest paths between all pairs (Floyd 1962)."""
    for k in range(4):
        d = tg.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


def ndcg(score, gain):
    """Discounted gain of a ranking over the ideal one (Jarvelin and Kekalainen 2002)."""
    discount = 1 / tg.log2(tg.cast(tg.arange(score.shape[0]), "float64") + 2)
    by_score = tg.take(gain, tg.argsort(-score))
    ideal = tg.flip(tg.sort(gain), 0)
    return tg.sum((2**by_score - 1) * discount) / tg.sum((2**ideal - 1) * discount)


def ranks(x, y):
    """Spearman's coefficient, the area under the curve, the median deviation (scipy.stats)."""
    rx, ry = tg.argsort(tg.argsort(x)), tg.argsort(tg.argsort(y))
    n = tg.cast(x.shape[0], "float64")
    rho = 1 - 6 * tg.sum(tg.cast(rx - ry, "float64") ** 2) / (n * (n**2 - 1))
    return rho, tg.mean(tg.cast(x[:, None] > y[None, :], "float64")), tg.median(tg.abs(x - tg.median(x)))


def precision_recall(p, y):
    """Precision, recall, F1 and accuracy at one half (scikit-learn's metrics)."""
    hit = p > 0.5
    tp = tg.sum(tg.cast(hit & y, "float64"))
    fp, fn = tg.sum(tg.cast(hit & ~y, "float64")), tg.sum(tg.cast(~hit & y, "float64"))
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    return 2 * precision * recall / (precision + recall), tg.mean(tg.cast(tg.equal(hit, y), "float64"))


def edit_distance(a, b):
    """Levenshtein's distance, row by row (Wagner and Fischer 1974)."""
    m = b.shape[0]

    def row(before, letter):
        cost = tg.cast(tg.not_equal(b, letter), "int64")
        base = tg.minimum(before[1:] + 1, before[:-1] + cost)
        full = tg.concatenate([before[:1] + 1, base])
        k = tg.arange(m + 1)
        return tg.cummin(full - k, axis=0) + k, None

    return tg.scan(row, tg.arange(m + 1), a)[0][-1]


def knapsack(values, weights):
    """The knapsack problem by capacities (Bellman 1957)."""

    def item(best, one):
        v, w = one
        places = tg.arange(20) - w
        taken = tg.where(places >= 0, tg.take(best, tg.maximum(places, 0)) + v, 0.0)
        return tg.maximum(best, taken), None

    return tg.scan(item, tg.zeros(20), (values, weights))[0][-1]


def longest_run(x):
    """The largest sum of neighbours (Kadane 1984), the largest drawdown."""
    best = tg.scan(lambda s, v: (tg.maximum(s + v, v), tg.maximum(s + v, v)), tg.constant(0.0), x)[1]
    top = tg.cummax(tg.cumsum(x, axis=0), axis=0)
    return tg.max(best), tg.max(top - tg.cumsum(x, axis=0))


def adam(w, g, m, v, t):
    """A step of Adam with decay, and the gradient clipped by its norm (Kingma and Ba 2015)."""
    g = g * tg.minimum(1.0, 1.0 / (tg.sqrt(tg.sum(g**2)) + 1e-6))
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    step = 1e-3 * (m / (1 - 0.9**t)) / (tg.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return w - step - 1e-5 * w, m, v


def ridge(x, y, lam):
    """Ridge regression, its hat matrix and the criterion of generalised cross-validation (Golub et al. 1979)."""
    a = x.T @ x + lam * tg.eye(4)
    beta = tg.linalg.inv(a) @ x.T @ y
    hat = x @ tg.linalg.inv(a) @ x.T
    return tg.sum((y - x @ beta) ** 2) / (1 - tg.trace(hat) / 10) ** 2


def pca(x):
    """Principal components and shares of the variance (Jolliffe 2002)."""
    d = x - tg.mean(x, axis=0)
    u, s, vt = tg.linalg.svd(d, full_matrices=False)
    return s**2 / tg.sum(s**2), u * s, d @ vt.T


def mahalanobis(x, mu, sigma):
    """The density of a multivariate normal by solve and determinant (Mardia, Kent and Bibby)."""
    d = x - mu
    return -0.5 * tg.sum(d * tg.linalg.solve(sigma, d.T).T) - 0.5 * tg.linalg.slogdet(sigma)[1] * 7


def flow(x, w, b, s):
    """A coupling layer and a planar flow, with their determinants (Rezende and Mohamed 2015; Dinh et al. 2017)."""
    a = tg.tanh(x @ w + b)
    psi = (1 - a**2)[:, None] * w
    planar = tg.log(tg.abs(1 + psi @ s))
    scale = tg.tanh(x[:, :2] @ tg.reshape(s, (2, 2)))
    return tg.sum(planar) + tg.sum(scale), tg.concatenate([x[:, :2], x[:, 2:] * tg.exp(scale)], axis=1)


def conv_moments(image):
    """Sobel edges, local contrast and a Gaussian blur of an image (Gonzalez and Woods, ch. 10)."""
    p = tg.pad(image, ((1, 1), (1, 1)), mode="edge")
    gx = p[1:-1, 2:] - p[1:-1, :-2]
    gy = p[2:, 1:-1] - p[:-2, 1:-1]
    blur = (p[1:-1, 2:] + 2 * p[1:-1, 1:-1] + p[1:-1, :-2]) / 4
    return tg.sqrt(gx**2 + gy**2), tg.arctan2(gy, gx), image - blur


def colour(rgb):
    """sRGB to linear light and luminance, hue and saturation (IEC 61966-2-1)."""
    linear = tg.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    y = linear @ tg.constant([0.2126, 0.7152, 0.0722])
    top, low = tg.max(rgb, axis=1), tg.min(rgb, axis=1)
    return y, tg.where(top > 0, (top - low) / tg.where(top > 0, top, 1.0), 0.0), tg.clip(rgb * 255, 0, 255)


def psnr(a, b):
    """Peak signal to noise, structural similarity of whole images (Wang et al. 2004), total variation."""
    mse = tg.mean((a - b) ** 2)
    ma, mb = tg.mean(a), tg.mean(b)
    va, vb = tg.mean((a - ma) ** 2), tg.mean((b - mb) ** 2)
    cov = tg.mean((a - ma) * (b - mb))
    ssim = (2 * ma * mb + 1e-4) * (2 * cov + 9e-4) / ((ma**2 + mb**2 + 1e-4) * (va + vb + 9e-4))
    tv = tg.sum(tg.abs(a[1:] - a[:-1])) + tg.sum(tg.abs(a[:, 1:] - a[:, :-1]))
    return ssim, 20 * tg.log10(1 / tg.sqrt(mse)), tv


def bilinear(image, x, y):
    """Interpolation between pixels (scipy.ndimage.map_coordinates)."""
    i, j = tg.cast(tg.floor(x), "int64"), tg.cast(tg.floor(y), "int64")
    u, v = x - tg.floor(x), y - tg.floor(y)
    n, m = image.shape
    i1, j1 = tg.minimum(i + 1, n - 1), tg.minimum(j + 1, m - 1)
    top = image[i, j] * (1 - v) + image[i, j1] * v
    return top * (1 - u) + (image[i1, j] * (1 - v) + image[i1, j1] * v) * u


def quantised(x, scale):
    """Fake quantisation with a straight-through gradient (Jacob et al. 2018)."""
    q = tg.clip(tg.round(x / scale), -128, 127) * scale
    return x + tg.stop_gradient(q - x), tg.cast(tg.clip(tg.rint(x / scale), -128, 127), "int8")


def half_precision(x, w):
    """A layer in float32 over bfloat16 weights, with a scaled loss (Micikevicius et al. 2018)."""
    y = x @ tg.cast(tg.cast(w, "bfloat16"), "float32")
    return tg.mean(tg.cast(tg.maximum(y, 0), "float64")) * 1024.0


def segment_mean(x, group):
    """Means by groups, and what is left after them (pandas' groupby)."""
    n = tg.zeros(5).at[group].add(1.0)
    mean = tg.zeros(5).at[group].add(x) / tg.maximum(n, 1)
    return x - tg.take(mean, group), mean


def rolling(x):
    """Rolling means, returns, volatility and an index (pandas)."""
    total = tg.cumsum(x, axis=0)
    mean = (total[5:] - total[:-5]) / 5
    r = x[1:] / x[:-1] - 1
    return mean, tg.std(r) * math.sqrt(252), tg.cumprod(1 + r, axis=0), tg.log(x[1:]) - tg.log(x[:-1])


def one_hot_encoding(k, table):
    """An embedding by products and by places, the other way back, neighbours of missing ones."""
    z = tg.one_hot(k, 6)
    seen = tg.not_equal(k, -1) & tg.logical_not(tg.equal(k, 0))
    return z @ table, tg.argmax(z, axis=1), tg.where(seen[:, None], table[k], tg.mean(table, axis=0)), tg.any(~seen)


def missing(x):
    """Means without what is missing, imputed values and their share (pandas' fillna)."""
    there = ~tg.isnan(x)
    n = tg.sum(tg.cast(there, "float64"), axis=0)
    mean = tg.sum(tg.where(there, x, 0.0), axis=0) / n
    return tg.where(tg.isnan(x), mean, x), 1 - n / x.shape[0], tg.all(there), tg.any(tg.isnan(x) | tg.isinf(x))


def rotary(x, t):
    """Rotary positions, sines and cosines of a Transformer (Su et al. 2021)."""
    f = 10000.0 ** (-tg.cast(tg.arange(2), "float64") / 2)
    a = t[:, None] * f
    left, right = x[:, :2], x[:, 2:]
    turned = [left * tg.cos(a) - right * tg.sin(a), right * tg.cos(a) + left * tg.sin(a)]
    return tg.concatenate(turned, axis=1)


def skip_gram(u, v, noise):
    """The gradient of negative sampling by hand (Rong 2014, eq. 59)."""
    s, n = tg.sum(u * v, axis=1), tg.sum(u * noise, axis=1)
    return (tg.sigmoid(s) - 1)[:, None] * v + tg.sigmoid(n)[:, None] * noise, -tg.log(tg.sigmoid(s)) - tg.log(
        tg.sigmoid(-n)
    )


def sigmoid_cross_entropy(x, z):
    """Cross entropy of logits, and its two ends (TensorFlow's sigmoid_cross_entropy_with_logits)."""
    return x - x * z + tg.log(1 + tg.exp(-x)), x + tg.log(1 + tg.exp(-x)), x - tg.log(1 + tg.exp(x))


def heatmap(x):
    """Logarithms of shares by hand, of rows and of whole pictures (scikit-learn; Sun et al. 2018)."""
    d = x - tg.max(x, axis=1, keepdims=True)
    rows = d - tg.log(tg.sum(tg.exp(d), axis=1, keepdims=True))
    e = tg.exp(x - tg.max(x))
    return rows, tg.log(e / tg.sum(e)), tg.log(tg.exp(x) / tg.sum(tg.exp(x)))


PROGRAMS = (
    program("spectral normalisation", spectral_normalisation, w=M, grad=True),
    program("layer norm", layer_norm, x=M, grad=True),
    program("attention", attention, q="float64[?, 16]", k="float64[?, 16]", v=M, mask="bool[?, ?]", grad=True),
    program("activations", activations, grad=True),
    program("activations of float32", activations, x=F32, grad=True),
    program("cross entropy", cross_entropy, logits="float64[?, 4]", y=I, grad=True),
    program("focal loss", focal, grad=True),
    program("InfoNCE", info_nce, a=M, b=M, grad=True),
    program("triplet loss", triplet, a=M, p=M, n=M, grad=True),
    program("k-means", distances, x=M, c="float64[3, ?]", grad=True),
    program("PageRank", pagerank, a=M4, grad=True),
    program("graph convolution", graph_laplacian, a=M4, x="float64[4, ?]", grad=True),
    program("shortest paths", floyd_warshall, d=M4, grad=True),
    program("NDCG", ndcg),
    program("ranks", ranks),
    program("F1", precision_recall, y="bool[?]"),
    program("edit distance", edit_distance, a=I, b=I),
    program("knapsack", knapsack, weights=I),
    program("Kadane", longest_run, grad=True),
    program("Adam", adam, t=S),
    program("Adam of float32", adam, w=F32, g=F32, m=F32, v=F32, t="float32[]"),
    program("ridge regression", ridge, x="float64[10, 4]", y="float64[10]", lam=S, grad=True),
    program("principal components", pca, x=M),
    program("multivariate normal", mahalanobis, x="float64[7, 4]", mu="float64[4]", sigma=M4, grad=True),
    program("normalising flow", flow, x="float64[?, 4]", w="float64[4]", b=S, s="float64[4]", grad=True),
    program("edges of an image", conv_moments, image=M, grad=True),
    program("colours", colour, rgb="float64[?, 3]", grad=True),
    program("similarity of images", psnr, a=M, b=M, grad=True),
    program("bilinear interpolation", bilinear, image=M, grad=True),
    program("quantisation", quantised, scale=S, grad=True),
    program("half precision", half_precision, x=F32M, w=F32M, grad=True),
    program("means by groups", segment_mean, group=I, grad=True),
    program("rolling", rolling, grad=True),
    program("one-hot encoding", one_hot_encoding, k=I, table="float64[6, ?]", grad=True),
    program("missing values", missing, x=M, grad=True),
    program("rotary positions", rotary, x="float64[?, 4]", grad=True),
    program("skip-gram", skip_gram, u=M, v=M, noise=M, grad=True),
    program("sigmoid cross entropy", sigmoid_cross_entropy, grad=True),
    program("heatmap", heatmap, x=M, grad=True),
)
