"""All op families of core, and the flat namespace of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import (
    arranging,
    assumptions,
    calculus,
    contraction,
    control,
    creation,
    cumulative,
    custom,
    diagonal,
    dims,
    einsum,
    histogram,
    index_syntax,
    index_updates,
    indexing,
    iteration,
    joining,
    length_checks,
    loops,
    norm,
    numpy_protocol,
    padding,
    places,
    quantiles,
    recurrence,
    reduction,
    selection,
    shape,
    softmax,
    sorting,
    statistics,
)
from tg.ops.elementwise import (
    arithmetic,
    bitwise,
    cast,
    comparison,
    complex,
    draws,
    exponential,
    rounding,
    trigonometric,
)
from tg.ops.elementwise import random as random_bits
from tg.ops.elementwise.special import (
    bessel,
    beta,
    cylinder,
    error,
    gamma,
    hypergeometric,
    incomplete,
    normal,
    owens,
    students,
    zeta,
)
from tg.ops.linalg import (
    banded,
    cholesky,
    equations,
    functions,
    least_squares,
    logarithms,
    lu,
    norms,
    products,
    qr,
    riccati,
    schur,
    solving,
    spectral,
    spectral_functions,
    triangular,
)
from tg.ops.nn import (
    activation,
    attention,
    convolution,
    cross_entropy,
    ctc,
    losses,
    metrics,
    normalization,
    pooling,
    resizing,
)
from tg.ops.nn import attention, convolution, encodings
from tg.ops.nn import attention, convolution, dropout, encodings
from tg.ops.nn import attention, convolution, dropout, encodings, initializers
from tg.ops.nn import attention, convolution, dropout, encodings, initializers, recurrent
from tg.ops.nn import attention, convolution, dropout, encodings, initializers, mixture, recurrent
from tg.ops.random import continuous, counts, gammas, integers, keys, transformed, vectors

if TYPE_CHECKING:
    from tg.ops.family import Family

FAMILIES: Final[tuple[Family, ...]] = (
    arithmetic.FAMILY,
    bitwise.FAMILY,
    cast.FAMILY,
    comparison.FAMILY,
    complex.FAMILY,
    exponential.FAMILY,
    rounding.FAMILY,
    trigonometric.FAMILY,
    random_bits.FAMILY,
    bessel.FAMILY,
    beta.FAMILY,
    error.FAMILY,
    gamma.FAMILY,
    normal.FAMILY,
    zeta.FAMILY,
    incomplete.FAMILY,
    cylinder.FAMILY,
    owens.FAMILY,
    students.FAMILY,
    hypergeometric.FAMILY,
    draws.FAMILY,
    calculus.FAMILY,
    arranging.FAMILY,
    assumptions.FAMILY,
    contraction.FAMILY,
    control.FAMILY,
    creation.FAMILY,
    cumulative.FAMILY,
    custom.FAMILY,
    diagonal.FAMILY,
    einsum.FAMILY,
    histogram.FAMILY,
    indexing.FAMILY,
    iteration.FAMILY,
    joining.FAMILY,
    loops.FAMILY,
    norm.FAMILY,
    quantiles.FAMILY,
    padding.FAMILY,
    places.FAMILY,
    recurrence.FAMILY,
    reduction.FAMILY,
    selection.FAMILY,
    shape.FAMILY,
    softmax.FAMILY,
    sorting.FAMILY,
    statistics.FAMILY,
    banded.FAMILY,
    cholesky.FAMILY,
    equations.FAMILY,
    functions.FAMILY,
    least_squares.FAMILY,
    logarithms.FAMILY,
    lu.FAMILY,
    norms.FAMILY,
    products.FAMILY,
    qr.FAMILY,
    riccati.FAMILY,
    schur.FAMILY,
    solving.FAMILY,
    spectral.FAMILY,
    spectral_functions.FAMILY,
    triangular.FAMILY,
    convolution.FAMILY,
    pooling.FAMILY,
    resizing.FAMILY,
    activation.FAMILY,
    normalization.FAMILY,
    losses.FAMILY,
    cross_entropy.FAMILY,
    ctc.FAMILY,
    metrics.FAMILY,
    attention.FAMILY,
    dropout.FAMILY,
    encodings.FAMILY,
    initializers.FAMILY,
    mixture.FAMILY,
    recurrent.FAMILY,
    keys.FAMILY,
    continuous.FAMILY,
    transformed.FAMILY,
    gammas.FAMILY,
    counts.FAMILY,
    vectors.FAMILY,
    integers.FAMILY,
)

ELEMENTWISE: Final[dict[str, Any]] = {fn.name: fn for family in FAMILIES for fn in family.elementwise}

NAMES: Final[dict[str, Any]] = {
    **ELEMENTWISE,
    **{fn.__name__: fn for family in FAMILIES if not family.module for fn in family.functions},
    **{name: fn for family in FAMILIES if not family.module for name, fn in family.aliases},
}

MODULES: Final[dict[str, dict[str, Any]]] = {
    module: {fn.__name__: fn for family in FAMILIES if family.module == module for fn in family.functions}
    for module in dict.fromkeys(family.module for family in FAMILIES if family.module)
}
"""The names of modules of tg, such as `tg.linalg`."""

INTERNAL: Final[dict[str, Any]] = {
    "assume_facts": assumptions.assume_facts,
    "axis_length": shape.axis_length,
    "dim_length": dims.dim_length,
    "fit_check": length_checks.fit_check,
    "state_shape": shape.state_shape,
    "IndexedUpdates": index_updates.IndexedUpdates,
    "getitem": index_syntax.getitem,
    "numpy_ufunc": numpy_protocol.numpy_ufunc,
    "numpy_function": numpy_protocol.numpy_function,
}
