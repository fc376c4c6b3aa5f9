"""Words: the names that other libraries have, with what does the same in tg: `tg.scan`, `tg.dvector`, `tg.erf`.

A row is some names and a text. What stands in `…` is code that works: the tests run it, for each name of its row, which
`{name}` stands for. A name that tg gets leaves its row; the tests hold the table to that. Names that one library alone
has are in `tg.libraries`, among them those without a counterpart.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Final, NoReturn

from tg.errors import InputError, message, nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

NEAR: Final = 0.8  # how much of a name a guess has to share, as difflib counts: `vectr`, not `scan` for `isnan`

ELSEWHERE: Final = (  # the same thing, which has another name here
    # inputs, constants, classes
    ("dscalar", '`tg.scalar("x")`'),
    ("dvector", '`tg.vector("x")`'),
    ("dmatrix", '`tg.matrix("m")`'),
    ("row drow", '`tg.matrix("m", shape=(1, None))`'),
    ("col dcol", '`tg.matrix("m", shape=(None, 1))`'),
    ("scalars dscalars", 'one at a time: `x, y = tg.scalar("x"), tg.scalar("y")`'),
    ("vectors dvectors", 'one at a time: `x, y = tg.vector("x"), tg.vector("y")`'),
    ("matrices dmatrices", 'one at a time: `x, y = tg.matrix("x"), tg.matrix("y")`'),
    ("fscalar", '`tg.scalar("x", "float32")`'),
    ("fvector", '`tg.vector("x", "float32")`'),
    ("fmatrix", '`tg.matrix("m", "float32")`'),
    ("lscalar", '`tg.scalar("k", "int64")`'),
    ("lvector", '`tg.vector("k", "int64")`'),
    ("lmatrix", '`tg.matrix("m", "int64")`'),
    ("iscalar", '`tg.scalar("k", "int32")`'),
    ("ivector", '`tg.vector("k", "int32")`'),
    ("imatrix", '`tg.matrix("m", "int32")`'),
    ("bscalar", '`tg.scalar("k", "int8")`'),
    ("bvector", '`tg.vector("k", "int8")`'),
    ("bmatrix", '`tg.matrix("m", "int8")`'),
    ("tensor3 dtensor3", '`tg.tensor("t", shape=(None,) * 3)`'),
    ("tensor4 dtensor4", '`tg.tensor("t", shape=(None,) * 4)`'),
    ("tensor5 dtensor5", '`tg.tensor("t", shape=(None,) * 5)`'),
    ("ftensor3", '`tg.tensor("t", "float32", shape=(None,) * 3)`'),
    ("ltensor3", '`tg.tensor("t", "int64", shape=(None,) * 3)`'),
    ("placeholder Input symbol symbols ShapeDtypeStruct", '`tg.tensor("t", "float64", shape=(None, 3))`'),
    ("asanyarray asarray_chkfinite ascontiguousarray asfortranarray", "`tg.asarray([1.0, 2.0])`"),
    ("as_tensor as_tensor_variable from_numpy frombuffer device_put", "`tg.constant(np.arange(3.0))`"),
    ("Tensor TensorVariable ndarray Array", "`tg.Variable`: `tg.vector` and the like make inputs"),
    ("TensorConstant", "`tg.Constant`: `tg.constant` makes one"),
    ("FunctionGraph Graph", "`tg.function([x], tg.exp(x)).graph`"),
    ("SharedVariable", '`tg.Shared`: `tg.shared(np.zeros(3), "w")` makes one'),
    ("Parameter", 'of a module `tg.nn.parameter((3,), tg.nn.init.zeros)`; `tg.shared(np.zeros(3), "w")` has a value'),
    ("Inf NaN NAN infty", "constants are the array API's: `x * tg.inf`, `tg.nan`"),
    ("bool_",
     'dtypes are strings: `tg.cast(x, "{name}")`'),
    ("float double half single int long", 'dtypes are strings: `tg.cast(x, "{name}")`'),
    ("byte ubyte short ushort intc uintc int_ uint intp uintp ulong longlong ulonglong csingle cdouble",
     "dtypes are strings, or NumPy's: `tg.cast(x, np.{name})`"),
    ("float_ longdouble float128", '`tg.cast(x, "float64")` is the widest'),
    ("complex_ clongdouble complex256", '`tg.cast(x, "complex128")` is the widest'),
    ("issubdtype", "NumPy's: `np.issubdtype(x.dtype, np.floating)`"),
    ("generic number integer signedinteger unsignedinteger inexact floating complexfloating",
     "NumPy's: `np.issubdtype(x.dtype, np.{name})`"),
    ("common_type min_scalar_type mintypecode", "`tg.result_type(x, y)`"),
    ("isscalar", "`x.ndim == 0`"),
    ("iterable", "`x.ndim > 0`"),
    ("True_ False_", "Python's: `tg.where(True, x, y)`"),
    ("fromfile fromiter fromstring fromregex loadtxt genfromtxt memmap require",
     "NumPy's give values: `tg.constant(np.ones(3))`"),
    ("savetxt savez savez_compressed array2string array_repr array_str",
     "NumPy's take values: `np.array_repr(x.eval({x: [1.0, 2.0]}))`"),
    ("pmap smap vectorize_graph batch", "`tg.vmap(tg.sum)(m)`"),
    ("dtype", 'NumPy\'s: `np.{name}("float64")`'),
    ("floatX set_default_dtype", 'dtypes are said where inputs are made: `tg.vector("x", dtype="float32")`'),
    # making and running functions
    ("compile script trace_function", "`tg.jit(f)` of a Python function, or `tg.function([x], tg.exp(x))`"),
    ("Mode", '`tg.function([x], x, backend="perform", mode="strict")`'),
    ("In Param", "`tg.function([x, s], x * s, defaults={s: 0.5})`"),
    ("clone_replace graph_replace", "`tg.function([y], tg.exp(x), givens={x: y})`"),
    ("dprint debugprint pprint pp make_jaxpr", "`tg.print(tg.exp(x))`"),
    ("block_until_ready device_get", "calls are not asynchronous: `tg.function([x], x)(np.ones(3, x.dtype))` is there"),
    ("no_grad enable_grad inference_mode set_grad_enabled", "gradients are computed where `tg.grad(cost, x)` asks"),
    ("errstate seterr debug_nans", "`tg.function([x], x, nan_guard=True)`"),
    ("pure_callback io_callback as_op wrap_py numpy_callback", "`tg.wrap(np.sort, infer=lambda x: x)`"),
    ("custom_gradient",
     "`tg.wrap(np.sin, infer=lambda x: x, grad=lambda xs, ys, dys: (dys[0] * tg.cos(xs[0]),))`"),
    ("default_backend devices default_device", "`tg.backends()`"),
    # derivatives
    ("jacfwd", '`tg.jacobian(x * s, x, direction="forward")`'),
    ("jacrev", '`tg.jacobian(x * s, x, direction="reverse")`'),
    ("Lop pullback", "`tg.vjp(x * s, x, y)`"),
    ("Rop pushforward linearize", "`tg.jvp(x * s, x, y)`"),
    ("autograd backward", "`tg.grad(cost, x)`"),
    ("detach disconnected_grad zero_grad consider_constant", "`tg.stop_gradient(x)`"),
    ("verify_grad gradcheck check_grads", "`tg.check_grad(cost, {x: [1.0, 2.0]})`"),
    # functions of elements
    ("eq lt le gt ge neq ne", "comparisons are operators, `x == y`, or `tg.equal(x, y)` and the like"),
    ("and_ or_ bitwise_and_ bitwise_or_", "operators, `mask & (x > 0)`, or `tg.logical_and(mask, x > 0)` and the like"),
    ("xor invert_ bitwise_inverse", "`mask ^ (x > 0)`, `~mask`"),
    ("neg", "`-x`"),
    ("sub", "`x - y`"),
    ("mul", "`x * y`"),
    ("div", "`x / y`"),
    ("int_div", "`x // y`"),
    ("rem", "`x % y`"),
    ("abs_", "`tg.abs(x)`"),
    ("sqr", "`tg.square(x)`"),
    ("sgn", "`tg.sign(x)`"),
    ("rsqrt", "`1 / tg.sqrt(x)`"),
    ("lerp", "`x + s * (y - x)`"),
    ("frac", "`x - tg.trunc(x)`"),
    ("is_finite", "`tg.isfinite(x)`"),
    ("clamp clamp_min clamp_max clip_by_value", "`tg.clip(x, -1.0, 1.0)`"),
    ("logistic", "`tg.sigmoid(x)`"),
    ("lgamma loggamma", "`tg.gammaln(x)`"),
    ("psi", "`tg.digamma(x)`"),
    ("multigammaln mvlgamma", "`math.log(math.pi) / 2 + tg.gammaln(x) + tg.gammaln(x - 0.5)` in two dimensions"),
    ("tri_gamma", "`tg.trigamma(x)`"),
    ("erf_inv", "`tg.erfinv(x)`"),
    ("masked_fill masked_where", "`tg.where(mask, 0.0, x)`"),
    ("masked_array MaskedArray masked_tensor as_masked_tensor MaskedTensor ma",
     "`tg.masked.array(x, mask)` with a mask that is True where elements count"),
    ("nested_tensor RaggedTensor pad_sequence", "`tg.masked.from_ragged([x, w])`"),
    ("DataArray xtensor as_xtensor refine_names", "`tg.dims.Array(m, ('obs', 'group'))`"),
    ("emath", '`tg.sqrt(tg.cast(x, "complex128"))` is complex below 0'),
    ("real_if_close", "`tg.real(x)`"),
    ("ufunc", "functions of elements broadcast: `tg.add(m, x)`"),
    ("frompyfunc", "`tg.vectorize(lambda a: a + 1.0)(x)`; tg.wrap takes Python code that is no expression"),
    ("poly1d polynomial", "of a vector of coefficients: `tg.polyval(w, s)`"),
    ("select_n", "`tg.where(mask, x, y)`"),
    # reductions and scans
    ("numel", "`tg.size(x)`"),
    ("sumsq", "`tg.sum(x**2)`"),
    ("var_mean std_mean", "`(tg.var(x), tg.mean(x))`"),
    ("max_and_argmax aminmax", "`(tg.max(x), tg.argmax(x))`"),
    ("trapz", "`tg.trapezoid(x)`"),
    ("segment_sum", "`tg.zeros((3,), x.dtype).at[i].add(x)`"),
    ("squared_error", "`tg.nn.mse_loss(x, y)`"),
    ("standardize", "`tg.nn.layer_norm(m)`"),
    ("attention dot_product_attention", "`tg.nn.scaled_dot_product_attention(m, m, m)`"),
    ("MaxPool2d AvgPool2d MaxPool LPPool2d",
     "functions are layers: `tg.nn.Sequential(lambda v: tg.nn.max_pool2d(v, 2), tg.nn.Conv(3, 8, 3))`"),
    ("AdaptiveAvgPool2d AdaptiveMaxPool2d",
     "functions are layers: `tg.nn.Sequential(lambda v: tg.nn.adaptive_avg_pool2d(v, 1))`"),
    ("Embed", "`tg.nn.Embedding(10, 3)`"),
    ("Linear", "`tg.nn.Dense(3, 2)` is the layer, `m @ m.T + x` the function"),
    ("Identity", "functions are layers: `tg.nn.Sequential(tg.nn.Dense(3, 2), lambda v: v)`"),
    ("Flatten", "functions are layers: `tg.nn.Sequential(lambda v: v.reshape((v.shape[0], -1)), tg.nn.Dense(3, 2))`"),
    ("ModuleList ModuleDict ParameterList",
     "attributes may be lists and dicts of modules: `[tg.nn.Dense(3, 3) for _ in range(2)]`"),
    ("pack_padded_sequence pad_packed_sequence pack_sequence PackedSequence",
     "`tg.nn.LSTM(3, 2)`, GRU and RNN take the lengths= of padded sequences in a call"),
    ("functional_call", "of weights: `tg.nn.replaced(tg.nn.Dense(2, 2), {'weight': m, 'bias': x})(m)`"),
    ("stack_module_state", "`tg.nn.Ensemble(tg.nn.Dense(3, 2), 5)` is several models as one"),
    ("RNNCell GRUCell LSTMCell", "`tg.nn.LSTM(3, 2)`, GRU and RNN go over all steps, or over one"),
    ("Conv1d Conv2d Conv3d", "`tg.nn.Conv(3, 8, (3, 3))` has an axis for each length of the window"),
    ("BatchNorm1d BatchNorm2d BatchNorm3d", "`tg.nn.BatchNorm(8)` is of any rank"),
    ("MultiheadAttention", "`tg.nn.Attention(16, 4)`"),
    ("TransformerEncoder TransformerEncoderLayer", "`tg.nn.Transformer(2, 16, 4, 32)`"),
    ("rope rotary_embedding", "`tg.nn.rotary(tg.ones((2, 4)))`"),
    ("print_ Print", "`tg.debug_print(x)` prints values when it runs"),
    # shapes
    ("cat join", "`tg.concatenate([x, y], axis=0)`"),
    ("row_stack", "`tg.vstack([x, y])`"),
    ("asmatrix bmat", "`tg.block([[m, m]])`"),
    ("unsqueeze shape_padaxis", "`tg.expand_dims(x, 0)`"),
    ("shape_padleft", "`x[None]`"),
    ("shape_padright", "`x[:, None]`"),
    ("unflatten", "`tg.reshape(x, (-1, 1))`"),
    ("permute dimshuffle", "`tg.transpose(m, (1, 0))`"),
    ("t adjoint", "`m.T`"),
    ("movedim", "`tg.moveaxis(m, 0, 1)`"),
    ("swapdims", "`tg.swapaxes(m, 0, 1)`"),
    ("unbind", "`tg.unstack(w)`"),
    ("chunk tensor_split", "`tg.array_split(w, 2)`"),
    ("repeat_interleave", "`tg.repeat(x, 2)`"),
    ("expand broadcast expand_as broadcast_in_dim broadcast_like", "`tg.broadcast_to(x, (2, x.shape[0]))`"),
    ("broadcast_tensors", "`tg.broadcast_arrays(x, s)`"),
    ("rev", "`tg.flip(x)`"),
    ("alloc", "`tg.full((2, 3), s)`"),
    ("iota", "`tg.arange(3)`"),
    ("clone", "variables are immutable: `x` itself"),
    # indexing
    ("set_subtensor index_copy dynamic_update_slice fill_ index_fill", "`x.at[0:2].set(0.0)`"),
    ("inc_subtensor index_add scatter_add", "`x.at[i].add(1.0)`"),
    ("scatter index_put", "`x.at[i].set(1.0)`"),
    ("gather take_along_dim", "`tg.take_along_axis(m, i[:, None], axis=1)`"),
    ("index_select", "`tg.take(m, i, axis=0)`"),
    ("masked_select", "`x[mask]`"),
    ("dynamic_slice narrow dynamic_slice_in_dim lax_slice", "`x[k : k + 2]`"),
    ("dynamic_index_in_dim", "`x[k]`"),
    ("r_ c_ s_ index_exp", "NumPy's: `np.mgrid[0:3, 0:2]`"),
    ("hanning hamming blackman bartlett hann_window hamming_window", "NumPy's: `w * np.hanning(3).astype(w.dtype)`"),
    ("kaiser", "NumPy's: `w * np.kaiser(3, 8.0).astype(w.dtype)`"),
    # sorting and sets
    ("top_k", "`tg.topk(x, 2)`"),
    ("kthvalue", "`tg.sort(x)[1]`"),
    ("bucketize", "`tg.digitize(x, np.array([0.0, 1.0]))`"),
    # products
    ("mm mv", "`m @ x`"),
    ("bmm batched_dot batch_matmul", "`tg.matmul(m[None], m[None])` has leading axes"),
    ("addmm", "`m + m @ m`"),
    ("ger", "`tg.outer(x, y)`"),
    ("einsum_path", "`tg.einsum('ij,j->i', m, x)` chooses the order itself"),
    ("dot_general batched_tensordot", "`tg.einsum('bi,bi->b', m, m)`"),
    ("max_pool avg_pool", "`tg.nn.{name}2d(m[None], 2)`"),
    ("conv convolution", "`tg.nn.conv2d(m[None], m[None, None])`"),
    ("conv_transpose", "`tg.nn.conv_transpose2d(m[None], m[None, None])`"),
    ("ifft rfft irfft hfft ihfft", "`tg.fft.{name}(x)`"),
    ("fft2 ifft2 fftn ifftn rfft2 irfft2 rfftn irfftn", "`tg.fft.{name}(m)`"),
    ("fftfreq rfftfreq", "`tg.fft.{name}(4)`"),
    ("fftshift ifftshift", "`tg.fft.{name}(x)`"),
    ("multi_dot chain_matmul matrix_dot", "`tg.linalg.multi_dot([m, m, m])`"),
    # linear algebra
    ("cholesky inv pinv det slogdet eig eigvals eigh eigvalsh svd svdvals qr schur expm logm sqrtm matrix_rank",
     "`tg.linalg.{name}(m)`"),
    ("vector_norm toeplitz", "`tg.linalg.{name}(x)`"),
    ("matrix_norm frobenius_norm", "`tg.linalg.matrix_norm(m)`"),
    ("lstsq tensorsolve", "`tg.linalg.{name}(m, x)`"),
    ("tensorinv", "`tg.linalg.tensorinv(m, 1)`"),
    ("matrix_power", "`tg.linalg.matrix_power(m, 3)`"),
    ("matrix_exp", "`tg.linalg.expm(m)`"),
    ("pinverse", "`tg.linalg.pinv(m)`"),
    ("solve solve_triangular", "`tg.linalg.{name}(m, x)`"),
    ("cho_solve", "`tg.linalg.cho_solve((tg.linalg.cholesky(m), True), x)`"),
    ("lu_factor", "`tg.linalg.lu_factor(m)`"),
    ("inverse matrix_inverse nlinalg slinalg", "`tg.linalg.inv(m)`"),
    ("triangular_solve", "`tg.linalg.solve_triangular(m, x)`"),
    ("tridiagonal_solve", "`tg.linalg.solve(m, x, assume_a='tridiagonal')`, or by diagonals tg.linalg.solve_banded"),
    ("solve_discrete_are solve_continuous_are", "`tg.linalg.{name}(m, m, m, m)`"),
    ("logdet", "`tg.linalg.slogdet(m)[1]`"),
    ("igamma", "`tg.gammainc(x, y)`"),
    ("igammac", "`tg.gammaincc(x, y)`"),
    # control flow
    ("ndenumerate ndindex nditer nested_iters flatiter",
     "`tg.scan(lambda c, v: (c + v, c), 0.0, x)` goes over an axis"),
    ("foldl foldr", "`tg.reduce(lambda c, v: c + v, x, 0.0)`"),
    ("ifelse", "`tg.cond(s > 0, lambda: x, lambda: -x)`; `tg.where(s > 0, x, y)` computes both sides"),
    # modules of other libraries
    ("lax", "names are in one place: `tg.scan(lambda c, v: (c + v, c), 0.0, x)`"),
    ("numpy np jnp T pt theano pytensor", "names are in one place, `tg.exp(x)`; NumPy's take variables, `np.exp(x)`"),
    ("scipy jsp", "SciPy's names: `tg.linalg.cholesky(m)`, `tg.special.gammaln(x)`"),
    ("optim optimizers optax", "`tg.function([x], loss, updates=tg.optimize.adam(loss, state))` is a step"),
    ("clip_grad_norm_ clip_grad_value_", "`tg.optimize.clip_by_global_norm(tg.grad(loss, [state]), 1.0)`"),
    ("lr_scheduler StepLR", "`tg.optimize.exponential_decay(0.1, 30, 0.1, staircase=True)` is a schedule"),
    ("OneCycleLR", "`tg.optimize.cosine_onecycle_schedule(1000, 0.1)`"),
    ("CosineAnnealingLR", "`tg.optimize.cosine_decay_schedule(0.1, 1000)`"),
    ("GradScaler amp DynamicLossScale",
     "`tg.optimize.loss_scaled(loss, state, lambda g: tg.optimize.adam(None, state, gradients=g))` gives updates"),
    # solvers
    ("fmin_bfgs fmin_cg LBFGS lbfgs minimize_scalar",
     '`tg.optimize.minimize(lambda v: tg.sum((v - x) ** 2), np.ones(2, x.dtype), "L-BFGS").x`'),
    ("fmin_l_bfgs_b differential_evolution basinhopping",
     "SciPy's, of a function of arrays: `scipy.optimize.minimize(tg.jit(lambda v: tg.sum(v**2)), np.ones(3))`"),
    ("fsolve root_scalar newton brentq", "`tg.optimize.root(lambda v: tg.exp(v) - s, tg.ones_like(s)).x`"),
    ("curve_fit leastsq lsq_linear",
     "`tg.optimize.least_squares(lambda p: p[0] * tg.exp(-p[1] * x) - y, [1.0, 1.0]).x`"),
    ("custom_root custom_linear_solve", "solvers have derivatives: `tg.optimize.root(lambda v: tg.exp(v) - s, s).x`"),
    ("nnet functional", "functions of networks are in tg.nn: `tg.nn.softmax(x)`"),
    ("tree_map tree_util pytree", "lists, tuples, dicts and dataclasses nest: `tg.tree.map(tg.exp, {'x': x})`"),
    ("printing", "`tg.print(tg.exp(x))`"),
    # draws
    ("initializers glorot_uniform xavier_uniform he_normal kaiming_normal orthogonal variance_scaling",
     "initial weights are in tg.nn.init: `tg.nn.init.glorot_uniform(tg.random.key(0), (3, 2))`"),
    ("key PRNGKey seed manual_seed", "draws are of a key, `tg.random.key(0)`, which says what they are"),
    ("RandomStream RandomState Generator default_rng", "`tg.random.RandomStream(0)` has NumPy's methods"),
    ("stats", "`tg.distributions.normal.logpdf(x, 0.0, 1.0)`"),
    ("bits fold_in", "`tg.random.{name}(tg.random.key(0), 1)`"),
    ("normal uniform exponential laplace gumbel cauchy lognormal halfnormal halfcauchy rayleigh standard_normal",
     "`tg.random.{name}(tg.random.key(0), shape=(3,))`"),
    ("randn", "`tg.random.normal(tg.random.key(0), shape=(3,))`"),
    ("rand", "`tg.random.uniform(tg.random.key(0), shape=(3,))`"),
    ("bernoulli geometric", "`tg.random.{name}(tg.random.key(0), 0.3, shape=(3,))`"),
    ("poisson chisquare weibull pareto invgamma", "`tg.random.{name}(tg.random.key(0), 4.0, shape=(3,))`"),
    ("standard_gamma", "`tg.random.gamma(tg.random.key(0), 2.5, shape=(3,))`"),
    ("standard_t", "`tg.random.t(tg.random.key(0), 4.0, shape=(3,))`"),
    ("binomial nbinom", "`tg.random.{name}(tg.random.key(0), 20, 0.3, shape=(3,))`"),
    ("negative_binomial", "`tg.random.nbinom(tg.random.key(0), 20, 0.3, shape=(3,))`"),
    ("nbinom2", "`tg.random.nbinom2(tg.random.key(0), 4.0, 2.5, shape=(3,))`"),
    ("hypergeometric", "`tg.random.hypergeometric(tg.random.key(0), 9, 5, 4, shape=(3,))`"),
    ("wald vonmises", "`tg.random.{name}(tg.random.key(0), 1.0, 2.0, shape=(3,))`"),
    ("triangular", "`tg.random.triangular(tg.random.key(0), 0.0, 1.0, 3.0, shape=(3,))`"),
    ("dirichlet categorical", "`tg.random.{name}(tg.random.key(0), [0.2, 0.3, 0.5])`"),
    ("multinomial", "`tg.random.multinomial(tg.random.key(0), 20, [0.2, 0.3, 0.5])`"),
    ("multivariate_normal", "`tg.random.multivariate_normal(tg.random.key(0), np.zeros(2), np.eye(2))`"),
    ("integers randint", "`tg.random.integers(tg.random.key(0), 10, shape=(3,))`"),
    ("permutation shuffle", "`tg.random.{name}(tg.random.key(0), x)`"),
    ("randperm", "`tg.random.permutation(tg.random.key(0), x)`"),
    ("choice", "`tg.random.choice(tg.random.key(0), x, (3,))`"),
    # solving
    ("solve_ivp diffeqsolve RK45 RK23 ode", "`tg.integrate.odeint(lambda t, y: -y, x, np.arange(3.0))`"),
    ("cumtrapz simps simpson romb quad", "`tg.integrate.trapezoid(y, x)` of samples"),
    ("interp1d UnivariateSpline InterpolatedUnivariateSpline make_interp_spline splrep splev spline",
     "`tg.interpolate.CubicSpline(np.arange(4, dtype=x.dtype), np.ones(4, x.dtype))(x)`; tg.interp is linear"),
    ("pchip pchip_interpolate",
     "`tg.interpolate.PchipInterpolator(np.arange(4, dtype=x.dtype), np.ones(4, x.dtype))(x)`"),
    ("make_lsq_spline design_matrix", "`tg.interpolate.bspline_basis(x, np.arange(8, dtype=x.dtype), 3)`"),
    # loops
    ("remat", "`tg.checkpoint(lambda v: tg.exp(v))(x)`"),
    ("OpFromGraph", "`tg.call(lambda v: tg.exp(v), x)`; tg.custom_vjp gives it a gradient"),
    ("Assert", "`tg.assert_(x, x > 0)`"),
)  # fmt: skip

LATER: Final = (  # what tg does not have yet, and what to do until then
    # keeping
    ("sharding shard_map with_sharding_constraint make_mesh distribute_tensor",
     '`tg.shard(tg.matrix("x"), "data", None)` says how x lies on a `tg.Mesh({"data": 4})`'),
    ("device cuda to_device", 'backends have options: `tg.backend("jax", device="cpu")`'),
)  # fmt: skip

CALLED: Final = {  # modules whose names are functions elsewhere
    "tg.gradient": "`tg.grad(cost, x)`; differences of samples are `tg.diff(x)`",
    "tg.random": "`tg.random.uniform(tg.random.key(0), (3,))`",
    "tg.fft": "`tg.fft.fft(x)`",
    "tg.integrate": "`tg.integrate.trapezoid(y, x)` of samples, `tg.integrate.odeint(lambda t, y: -y, x, y)`",
    "tg.interpolate": "of numbers `tg.interp(x, x, y)`, of images `tg.nn.resize(m[None, None], (4, 4))`",
    "tg.optimize": "`tg.optimize.minimize(lambda v: tg.sum((v - x) ** 2), tg.zeros_like(x)).x`",
}


class _Module(ModuleType):
    """A module that says what to call instead of it."""

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        text = f"{self.__name__}: found a call of the module, needed a function"
        raise InputError(message(text, hint=CALLED[self.__name__]))


def no_function(module: str) -> None:
    """Let a module that is in `CALLED` say what to call instead."""
    sys.modules[module].__class__ = _Module


def elsewhere() -> Iterator[tuple[str, str]]:
    """Each name that is another one here, with the text of its row; those of single libraries too."""
    from tg.libraries import pytensor, tensorflow

    for names, text in (*ELSEWHERE, *tensorflow.ROWS, *pytensor.ROWS):
        for name in names.split():
            yield name, text.replace("{name}", name)


def without() -> Iterator[tuple[str, str]]:
    """Each name that has no counterpart, with the reason and what to use."""
    from tg.libraries import pytensor, tensorflow

    for names, text in (*tensorflow.WITHOUT, *pytensor.WITHOUT):
        for name in names.split():
            yield name, text


def later() -> Iterator[tuple[str, str]]:
    """Each name of what tg does not have yet, with what to do until then."""
    for names, text in LATER:
        for name in names.split():
            yield name, text


@functools.cache
def _rows() -> dict[str, tuple[str, str]]:
    """For each name what ends the sentence that tg has no such attribute, and the text of its row."""
    return (
        {name: ("", text) for name, text in elsewhere()}
        | {name: ("", f"no counterpart: {text}") for name, text in without()}
        | {name: (" yet", text) for name, text in later()}
    )


def instead(name: str) -> str | None:
    """Advice on what to do instead of using a function of this name; None where the table has no such name."""
    return _rows()[name][1] if name in _rows() else None


def unknown(name: str, public: Collection[str], modules: Mapping[str, Collection[str]]) -> str:
    """The message about a name that tg does not have, with what to do, or a name that differs in a letter or two.

    Args:
        modules: those whose names are looked through, too, each with its own.
    """
    homes = {own: module for module, names in modules.items() for own in names}
    if name in homes and name not in _rows():
        return message(f"module 'tg' has no attribute {name!r}", hint=f"{homes[name]}.{name} exists")
    return _said(name, "tg", _near(name, homes | dict.fromkeys(public, "tg")))


def unknown_in(module: str, own: Collection[str], name: str, public: Collection[str]) -> str:
    """The same about a name that a module of tg does not have.

    Args:
        own: the names of the module.
        public: those of tg.
    """
    if name in public:
        return message(f"module {module!r} has no attribute {name!r}", hint=f"tg.{name} exists")
    return _said(name, module, _near(name, dict.fromkeys(own, module)) or _near(name, dict.fromkeys(public, "tg")))


def _said(name: str, module: str, near: str | None) -> str:
    end, hint = _rows().get(name) or ("", near)
    return message(f"module {module!r} has no attribute {name!r}{end}", hint=hint)


def _near(name: str, homes: Mapping[str, str]) -> str | None:
    """The name that is nearest, with the module that has it."""
    spelt = {other.lower(): f"{module}.{other}" for other, module in homes.items() if not other.startswith("_")}
    near = nearest(name.lower(), spelt, 1, NEAR)
    return f"{spelt[near[0]]} exists" if near else None
