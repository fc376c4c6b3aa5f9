"""Attention and its gradient by blocks against PyTorch, and memory that does not grow with queries times keys."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tg

pytestmark = pytest.mark.sampled(3)

attention = tg.nn.scaled_dot_product_attention
DRAWS = np.random.default_rng(11)
SEEN = DRAWS.random((2, 1, 130, 150)) < 0.5
SEEN[0, 0, 3] = SEEN[1, 0, 129] = False
BIAS = np.where(DRAWS.random((4, 130, 150)) < 0.5, DRAWS.normal(size=(4, 130, 150)), -np.inf)
FORMS = {
    "more than a block": ((2, 4, 130, 20), (2, 4, 150, 20), 9, None, {}),
    "causal, more keys": ((130, 64), (300, 64), 64, None, {"is_causal": True}),
    "causal, fewer keys": ((400, 5), (130, 5), 3, None, {"is_causal": True, "scale": 0.7}),
    "one query": ((2, 2, 1, 33), (2, 2, 400, 33), 70, None, {}),
    "few queries of groups": ((1, 6, 3, 8), (1, 2, 300, 8), 8, None, {"enable_gqa": True}),
    "causal groups": ((2, 6, 130, 13), (2, 3, 150, 13), 13, None, {"enable_gqa": True, "is_causal": True}),
    "mask of each element": ((2, 4, 130, 7), (2, 4, 150, 7), 7, SEEN, {}),
    "mask of groups": ((2, 4, 130, 7), (2, 2, 150, 7), 7, SEEN, {"enable_gqa": True}),
    "bias of each head": ((2, 4, 130, 7), (2, 4, 150, 7), 7, BIAS, {}),
    "mask of keys": ((2, 4, 130, 7), (2, 4, 150, 7), 7, SEEN[:, :, :1], {}),
    "mask of queries": ((2, 4, 130, 7), (2, 4, 150, 7), 7, SEEN[..., :1], {}),
    "repeated heads": ((2, 1, 130, 7), (1, 4, 150, 7), 7, None, {}),
}


def of_torch(arrays, mask, options):
    torch = pytest.importorskip("torch")
    from torch.nn.attention import SDPBackend, sdpa_kernel

    given = [torch.tensor(a.astype("float64"), requires_grad=True) for a in arrays]
    beside = None if mask is None else torch.tensor(mask, requires_grad=mask.dtype != bool)
    asked = given if beside is None or not beside.requires_grad else [*given, beside]
    with sdpa_kernel(SDPBackend.MATH):
        y = torch.nn.functional.scaled_dot_product_attention(*given, beside, **options)
    slopes = torch.autograd.grad(torch.sin(y).sum(), asked)
    return [v.detach().numpy() for v in (y, *slopes)]


def inputs_of(form, dtype):
    of_queries, of_keys, width, mask, options = FORMS[form]
    shapes = (of_queries, of_keys, (*of_keys[:-1], width))
    draws = np.random.default_rng([*FORMS].index(form))  # of its own: numbers that no other test decides
    arrays = [draws.normal(size=shape).astype(dtype) for shape in shapes]
    return arrays, mask if mask is None or mask.dtype == bool else mask.astype(dtype), options


def compiled(arrays, mask, options, backend, *, static):
    values = [*arrays, *([] if mask is None else [mask])]
    given = [tg.tensor(shape=a.shape if static else (None,) * a.ndim, dtype=str(a.dtype)) for a in values]
    y = attention(*given, **options)
    asked = [v for v in given if v.type.dtype != "bool"]
    return tg.function(given, [y, *tg.grad(tg.sum(tg.sin(y)), asked)], backend=backend), values


@pytest.mark.parametrize(
    ("form", "dtype", "most"),
    [*((form, "float64", 1e-12) for form in FORMS), *((form, "float32", 1e-6) for form in [*FORMS][:4])],
)
def test_values_and_gradients_are_those_of_pytorch(backend, form, dtype, most):
    arrays, mask, options = inputs_of(form, dtype)
    f, values = compiled(arrays, mask, options, backend, static=dtype == "float32")
    for found, want in zip(f(*values), of_torch(arrays, mask, options), strict=True):
        assert np.max(np.abs(found - want)) <= most * max(np.max(np.abs(want)), 1)


def test_slopes_of_a_query_that_sees_one_key_are_0(backend):
    q, k, v = (tg.matrix() for _ in range(3))
    dq, dk = tg.grad(tg.sum(tg.sin(attention(q, k, v, np.arange(5) == 2))), [q, k])
    found = tg.function([q, k, v], [dq, dk], backend=backend)(*(DRAWS.normal(size=(5, 4)) for _ in range(3)))
    assert not np.any(found[0])
    assert not np.any(found[1])


def test_halves_are_rounded_once(backend):
    arrays = [DRAWS.normal(size=s).astype("float16") for s in ((140, 8), (150, 8), (150, 6))]
    f, values = compiled(arrays, None, {"is_causal": True}, backend, static=False)
    wide, _ = compiled([a.astype("float32") for a in arrays], None, {"is_causal": True}, backend, static=False)
    y, *_ = f(*values)
    np.testing.assert_array_equal(y, wide(*(a.astype("float32") for a in arrays))[0].astype("float16"))


MEASURED = """
    from pathlib import Path
    import numpy as np
    import tg

    def peak():  # of this program: that of resource is also of the one that has started it
        status = Path("/proc/self/status").read_text().split()
        return int(status[status.index("VmHWM:") + 1])

    def of_table(q, k, v):
        return tg.softmax(q @ k.mT / 8) @ v

    q, k, v = (tg.tensor(shape=(None, 64), dtype="float32") for _ in range(3))
    y = {function}(q, k, v)
    f = tg.function([q, k, v], [y, *tg.grad(tg.sum(tg.sin(y)), [q, k, v])], backend="{backend}")
    small, large = (np.random.default_rng(0).normal(size=(n, 64)).astype("float32") for n in (64, 4096))
    f(small, small, small)
    before = peak()
    f(large, large, large)
    print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of one program are read there")
@pytest.mark.parametrize(("function", "is_table"), [("tg.nn.scaled_dot_product_attention", False), ("of_table", True)])
def test_memory_does_not_grow_with_queries_times_keys(backend, function, is_table):
    """Of 4096 queries and keys in one head the table is 64 MiB; what a program with one takes shows the measure."""
    program = textwrap.dedent(MEASURED.format(function=function, backend=backend))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    table = 4096**2 * 4 / 1024  # KiB
    assert int(done.stdout) > table if is_table else int(done.stdout) < table / 4
