"""`tg.export(f, path, "torch")`: what is written runs in a process without tg, and gives the golden values."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tg

pytestmark = [  # PyTorch's own
    pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec:FutureWarning"),
]

PROGRAM = """
import sys
import numpy as np, torch, torch._inductor
folder, is_package = sys.argv[1], sys.argv[2] == "package"
path = folder + "/program.pt2"
program = torch._inductor.aoti_load_package(path) if is_package else torch.export.load(path).module()
golden = np.load(folder + "/golden.npz")
taken = [golden[k] for k in golden if k.startswith("input.")] + [golden[k] for k in golden if k.startswith("state.")]
wanted = [golden[k] for k in golden if k.startswith("output.")] + [golden[k] for k in golden if k.startswith("new.")]
results = torch.utils._pytree.tree_leaves(program(*map(torch.from_numpy, taken)))
assert len(results) == len(wanted) > 0
for a, b in zip(results, wanted, strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
rows = [np.linspace(-1, 1, 33).reshape(11, 3), *taken[1:]]
print(torch.utils._pytree.tree_leaves(program(*map(torch.from_numpy, rows)))[0].sum().item())
assert "tg" not in sys.modules
"""


@pytest.mark.parametrize("kind", ["program", pytest.param("package", marks=pytest.mark.long(minutes=2))])
def test_a_program_with_weights_and_state_runs_without_tg(kind, tmp_path):
    x, w = tg.matrix("x", shape=(None, 3)), tg.shared(np.arange(6.0).reshape(3, 2) / 7, "w")
    total = tg.shared(np.zeros(2), "total")
    y = tg.softmax(tg.tanh(x @ w)) + tg.mean(x)
    f = tg.function([x], y, updates={total: total + tg.sum(y, axis=0)})
    out = tg.export(f, tmp_path / "out", "torch", package=kind == "package")
    text = subprocess.run([sys.executable, "-c", PROGRAM, str(out), kind], capture_output=True, text=True, check=False)
    assert text.returncode == 0, text.stderr[-2000:]
    expected = tg.function([x], y, backend="perform")(np.linspace(-1, 1, 33).reshape(11, 3)).sum()
    assert float(text.stdout) == pytest.approx(expected, rel=1e-12)


def test_a_check_that_values_decide_is_refused_and_leaves_nothing(tmp_path):
    x, k = tg.vector("x"), tg.scalar("k", "int64")
    f = tg.function([x, k], x[k])
    with pytest.raises(tg.InputError, match="found a check that values decide"):
        tg.export(f, tmp_path / "out", "torch", example={"x": np.ones(3), "k": 1})
    assert not list(tmp_path.iterdir())
