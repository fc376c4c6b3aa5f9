"""Loops as texts, pickled, and found again in the cache by another process."""

import json
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import tg
from tg import plugin
from tg.functions.show import parse
from tg.graph.interpret import interpret
from tg.graph.text.printer import to_text

INPUTS = X, W, K = tg.vector("x"), tg.matrix("w"), tg.scalar("k", "int64")
ARRAYS = [np.array([0.5, -1.0, 0.25]), np.arange(9.0).reshape(3, 3) / 9, np.int64(2)]


def programs():
    """Programs with loops of every kind, one in another, with checks and derivatives."""
    c, ys = tg.scan(lambda c, v: (tg.tanh(W @ c + v), tg.sum(c)), X, X, reverse=True)
    yield "scan", [c, ys, *tg.grad(tg.sum(c) + tg.sum(ys), [X, W])]
    yield "known length", [tg.scan(lambda c, _: (c * 0.5, c + 0), X, None, 3)[1]]
    yield "run-time length", [tg.scan(lambda c, _: (c + X[0], c), 0.0, None, K)[1]]
    yield "while", [*tg.while_loop(lambda c: c[0] < K, lambda c: (c[0] + 1, c[1] * X), (0, X))]
    end = tg.while_loop(lambda c: X[c[0]] < 9, lambda c: (c[0] + 1, c[1] * X[c[0]]), (0, X[0]), max_steps=3)
    yield "while with a limit and checks", [*end, tg.grad(end[1], X)]
    y = tg.cond(K > 1, lambda v: tg.sin(v) * X[K], lambda v: v, X)
    yield "cond", [y, tg.grad(tg.sum(y), X)]
    yield "switch", [tg.switch(K, [lambda: tg.sum(X), lambda: X[0], lambda: tg.sum(W)])]
    nested = tg.map(
        lambda v: tg.while_loop(lambda c: tg.abs(c) > 0.1, lambda c: tg.cond(c > 0, tg.sin, lambda u: u / 2, c), v, 50),
        X,
    )
    yield "one in another", [nested, tg.grad(tg.sum(nested), X)]


PROGRAMS = dict(programs())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_text_is_read_back(name):
    for mode in ("off", "default"):
        frozen = tg.function(list(INPUTS), PROGRAMS[name], backend="perform", mode=mode, on_unused_input="ignore").graph
        text = to_text(frozen)
        again = parse(text)
        assert again == frozen
        assert hash(again) == hash(frozen)
        assert to_text(again) == text
        arrays = [ARRAYS[k] for k, v in enumerate(INPUTS)][: again.arity]
        for a, b in zip(interpret(again, arrays), interpret(frozen, arrays), strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_expression_and_a_function_are_pickled(name):
    f = tg.function(list(INPUTS), PROGRAMS[name], backend="perform", on_unused_input="ignore")
    right = f(*ARRAYS)
    variables, outputs = pickle.loads(pickle.dumps((list(INPUTS), PROGRAMS[name])))
    g = tg.function(variables, outputs, backend="perform", on_unused_input="ignore")
    for again in (g, pickle.loads(pickle.dumps(f))):
        for a, b in zip(again(*ARRAYS), right, strict=True):
            assert np.array_equal(a, b)


PROGRAM = """
import json, sys, numpy as np, tg
x, k = tg.vector("x"), tg.scalar("k", "int64")
c, ys = tg.scan(lambda c, v: (tg.tanh(c * 0.5 + v), tg.cond(v > 0, lambda: c, lambda: x[k] * v)), 0.5, x)
n = tg.while_loop(lambda c: c[0] < 100, lambda c: (c[0] * 2, c[1] + 1), (c * c + 1, 0))[1]
f = tg.function([x, k], [c, ys, n, tg.grad(c + tg.sum(ys), x)], backend=sys.argv[1])
found = [np.asarray(v).tolist() for v in f([0.5, -1.0, 0.25], 2)]
try:
    f([0.5, -1.0], 2)
except tg.BoundsError as error:
    found.append(str(error).partition("\\n")[0])
print(json.dumps([found, [row.name for row in f.compile_report().rows]]))
"""


def native():
    """The backends with a cache of compiled code."""
    found = (plugin.registry().backend(s.name) for s in plugin.registry().backends() if s.is_available)
    return [b.name for b in found if b.raises and b.requires]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("backend", native())
def test_another_process_finds_them_in_the_cache(backend, tmp_path):
    environment = {**os.environ, "TG_CACHE_DIR": str(tmp_path)}
    (first, cold), (second, warm) = (run_once(backend, environment) for _ in range(2))
    assert first == second
    assert re.search("index 2 is out of bounds for an axis of length 2", first[-1])
    assert "compiler" in cold
    assert "compiler" not in warm


def run_once(backend, environment):
    """What the program finds, and the steps of its compilation."""
    command = [sys.executable, "-c", PROGRAM, backend]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])
