"""The module of each function of `tg`: a program imports the families that it uses, and no others.

Written by `make stub` from `tg.ops.catalog`; a test compares the two.
"""

from __future__ import annotations

from typing import Final

MODULES: Final = {  # module -> its names, and as name=attribute those that are called otherwise there
    "tg.ops.arranging": (
        "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes flatten fliplr flipud join_dims meshgrid"
        " ndim permute_dims roll rot90 shape size split_dims"
    ),
    "tg.ops.assumptions": "assert_ assume assume_facts",
    "tg.ops.bits": "packbits unpackbits",
    "tg.ops.calculus": "clip diff ediff1d interp piecewise polyval select trapezoid",
    "tg.ops.contraction": "dot inner kron matmul matvec outer tensordot vecdot vecmat",
    "tg.ops.control": "call grad_clip grad_scale stop_gradient",
    "tg.ops.conversion": "asarray astype copy from_dlpack fromfunction",
    "tg.ops.creation": (
        "arange empty empty_like eye full full_like geomspace indices linspace logspace one_hot ones ones_like vander"
        " zeros zeros_like"
    ),
    "tg.ops.cumulative": "cummax cummin cumprod cumsum cumulative_prod cumulative_sum logcumsumexp",
    "tg.ops.custom": "checkpoint custom_jvp custom_vjp",
    "tg.ops.diagonal": "diag diagflat diagonal fill_diagonal identity trace tri tril tril_indices triu triu_indices",
    "tg.ops.dims": "dim_length",
    "tg.ops.einsum": "einsum",
    "tg.ops.elementwise.arithmetic": (
        "abs=absolute absolute absolute_power add asked_opposite asked_where at_kink cbrt copysign direction divide"
        " divmod flat_power flat_root floor_divide fma fmax fmin gate heaviside hypot kink masked_product maximum"
        " minimum mod=remainder multiply negative nextafter past_kink positive pow=power power product_at_kink"
        " product_past_kink radial_power radius reciprocal relu remainder sign signed_power sqrt square subtract"
        " surrogate true_divide=divide"
    ),
    "tg.ops.elementwise.bitwise": (
        "bitwise_and bitwise_invert bitwise_left_shift=left_shift bitwise_not=bitwise_invert bitwise_or"
        " bitwise_right_shift=right_shift bitwise_xor invert=bitwise_invert left_shift right_shift"
    ),
    "tg.ops.elementwise.cast": "cast",
    "tg.ops.elementwise.comparison": (
        "allclose array_equal equal greater greater_equal isclose isfinite isinf isnan less less_equal logical_and"
        " logical_not logical_or logical_xor nan_to_num not_equal signbit where"
    ),
    "tg.ops.elementwise.complex": "angle complex conj=conjugate conjugate imag real",
    "tg.ops.elementwise.draws": (
        "binomial_draw gamma_draw hypergeometric_draw log_gamma_draw poisson_draw vonmises_draw wald_draw"
    ),
    "tg.ops.elementwise.exponential": (
        "exp exp2 expit=sigmoid expm1 log log10 log1mexp log1p log2 log_sigmoid logaddexp logit matern_3_2 matern_5_2"
        " per_expm1 sigmoid sigmoid_slope softplus xlog1py xlogy"
    ),
    "tg.ops.elementwise.random": "threefry",
    "tg.ops.elementwise.rounding": "around=round ceil fix=trunc floor rint round trunc",
    "tg.ops.elementwise.special.bessel": "i0 i0e i1 i1e j0 j1",
    "tg.ops.elementwise.special.beta": "beta betaln binom poch",
    "tg.ops.elementwise.special.cylinder": "iv ive jv kv kv_dv kve kve_dv",
    "tg.ops.elementwise.special.error": "erf erfc erfcinv erfcx erfinv",
    "tg.ops.elementwise.special.gamma": "digamma factorial gamma gammaln gammasgn trigamma",
    "tg.ops.elementwise.special.hypergeometric": "hyp2f1 hyp2f1_along hyp2f1_along_two",
    "tg.ops.elementwise.special.incomplete": (
        "betainc betainc_along_two betainc_da betainc_db betaincinv gammainc gammainc_da gammainc_daa gammaincc"
        " gammainccinv gammaincinv log_beta_tail log_beta_tail_along_two log_beta_tail_da log_beta_tail_db"
        " log_gamma_lower log_gamma_lower_da log_gamma_lower_daa log_gamma_upper log_gamma_upper_da log_gamma_upper_daa"
    ),
    "tg.ops.elementwise.special.normal": "inverse_mills log_ndtr ndtr ndtri ndtri_exp",
    "tg.ops.elementwise.special.owens": "owens_t",
    "tg.ops.elementwise.special.students": "stdtr stdtr_dn stdtrit",
    "tg.ops.elementwise.special.zeta": "polygamma zeta zeta_ds zeta_dss",
    "tg.ops.elementwise.trigonometric": (
        "acos=arccos acosh=arccosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin=arcsin asinh=arcsinh"
        " atan2=arctan2 atan=arctan atanh=arctanh cos cosh deg2rad degrees=rad2deg inversion log_cosh rad2deg"
        " radians=deg2rad sech sech_squared sin sinc sinh tan tanh"
    ),
    "tg.ops.four_bits": "pack_int4 unpack_int4",
    "tg.ops.grids": "diag_indices diag_indices_from ix_ mask_indices tril_indices_from triu_indices_from",
    "tg.ops.groups": "dequantize_groups",
    "tg.ops.histogram": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "tg.ops.index_syntax": "getitem",
    "tg.ops.index_updates": "IndexedUpdates",
    "tg.ops.indexing": "flip take",
    "tg.ops.insertion": "delete insert",
    "tg.ops.integer_products": "integer_matmul",
    "tg.ops.iteration": "associative_scan cond fori_loop map reduce scan switch while_loop",
    "tg.ops.joining": (
        "append array_split block_diag column_stack dsplit dstack hsplit hstack pack repeat split tile trim_zeros"
        " unpack unstack vsplit vstack"
    ),
    "tg.ops.length_checks": "fit_check",
    "tg.ops.norm": "norm",
    "tg.ops.numbers": (
        "bitwise_count fabs float_power fmod frexp gcd iscomplex isneginf isposinf isreal lcm ldexp logaddexp2 modf"
        " sort_complex spacing unwrap"
    ),
    "tg.ops.numpy_protocol": "numpy_function numpy_ufunc refuse_torch standard_namespace",
    "tg.ops.padding": "pad",
    "tg.ops.places": "choose put_along_axis ravel_multi_index take_along_axis unravel_index",
    "tg.ops.polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub roots",
    "tg.ops.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "tg.ops.quantization": "dequantize fake_quantize quantize",
    "tg.ops.recurrence": "recurrence until",
    "tg.ops.reduction": "all amax=max amin=min any argmax argmin count_nonzero max min prod ptp sum",
    "tg.ops.rewritten": "apply_over_axes array_equiv block copyto cross place put putmask resize rollaxis vdot",
    "tg.ops.selection": (
        "argwhere compress extract flatnonzero isin nonzero unique unique_all unique_counts unique_inverse"
        " unique_values"
    ),
    "tg.ops.sets": "intersect1d setdiff1d setxor1d union1d",
    "tg.ops.shape": (
        "array axis_length broadcast_to concat=concatenate concatenate expand_dims matrix_transpose moveaxis named"
        " ravel reshape same_shape specify_shape squeeze stack state_shape swapaxes transpose"
    ),
    "tg.ops.sharding": "shard stage",
    "tg.ops.sliding": "convolve correlate",
    "tg.ops.slopes": "gradient",
    "tg.ops.softmax": "log_softmax logsumexp softmax",
    "tg.ops.sorting": "argpartition argsort digitize lexsort partition searchsorted sort topk",
    "tg.ops.statistics": (
        "average corrcoef cov mean nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd"
        " nansum nanvar std var"
    ),
    "tg.variables.kinds": "need_no_device",
}

HOMES: Final = {
    entry.partition("=")[0]: (module, entry.rpartition("=")[2])
    for module, entries in MODULES.items()
    for entry in entries.split()
}
"""Name in `tg` -> module and attribute."""
