"""Using a backend leaves the process and the engine as they were, and backends share a process."""

import pytest

import tg

BACKENDS = {one.name for one in tg.backends() if one.is_available}
needs_jax = pytest.mark.skipif("jax" not in BACKENDS, reason="no jax")

PROCESS = """
import decimal, gc, hashlib, locale, os, pickle, random, signal, sys, threading, warnings
import numpy as np

def process():
    states = {
        "environment": sorted(os.environ.items()),
        "folder": os.getcwd(),
        "path": sys.path,
        "errstate": sorted(np.geterr().items()),
        "error call": np.geterrcall(),
        "print options": str(np.get_printoptions()),
        "random": hashlib.sha256(pickle.dumps((random.getstate(), np.random.get_state()))).hexdigest(),
        "threads": sorted(t.name for t in threading.enumerate()),
        "hooks": [repr(h) for h in (sys.excepthook, threading.excepthook, sys.unraisablehook, sys.gettrace())],
        "signals": [repr(signal.getsignal(s)) for s in sorted(signal.valid_signals())],
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled()],
        "warnings": [repr(f) for f in warnings.filters],
        "locale": locale.setlocale(locale.LC_ALL),
        "decimal": repr(decimal.getcontext()),
    }
    return {key: repr(value) for key, value in states.items()}
"""

WORK = """
def work(name):
    import tg
    x, k = tg.matrix("x"), tg.scalar("k", dtype="int64")
    y = tg.logsumexp(x @ x.T) + tg.sum(tg.exp(x[k:]) / 0.0)
    f = tg.function([x, k], [y, tg.grad(y, x)], backend=name)
    f(np.arange(6.0).reshape(2, 3), 1)
    try:
        tg.function([x, k], x[k], backend=name)(np.ones((2, 3)), 7)
    except IndexError:
        return
    raise AssertionError
"""

CHANGES = """
before = {state}()
work({backend!r})
after = {state}()
answer = {{key: [before[key], after[key]] for key in before if before[key] != after[key]}}
"""

JAX = """
import threading
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", {wide})
jnp.ones(2).block_until_ready()

def engine():
    seen = []
    def look():
        seen.append(str(jnp.ones(2).dtype))
    look()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    config = {{f"jax {{key}}": repr(value) for key, value in jax.config.values.items()}}
    return {{**process(), **config, "dtypes": seen, "device": str(jax.config.jax_default_device)}}
"""

TOGETHER = """
import numpy as np, tg
x = tg.matrix("x")
y = tg.logsumexp(x @ x.T)
value = np.arange(6.0).reshape(2, 3) / 4
functions = [tg.function([x], [y, tg.grad(y, x)], backend=name) for name in {names!r}]
found = [[np.asarray(a) for a in f(value)] for f in functions]
again = [tg.function([x], tg.grad(y, x) * 2, backend=name)(value) for name in {names!r}]
answer = [bool(np.allclose(p, q)) for one in found for p, q in zip(one, found[0])]
answer += [bool(np.allclose(a, 2 * found[0][1])) for a in again]
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", sorted(BACKENDS - {"jax"}))
def test_a_backend_leaves_the_process_as_it_was(ask, backend):
    engine = "import torch\n" if backend == "torch" else ""  # which itself adds filters of warnings when it is imported
    assert ask(engine + PROCESS + WORK + CHANGES.format(state="process", backend=backend)) == {}


@needs_jax
@pytest.mark.sampled(2)
@pytest.mark.parametrize("wide", [False, True])
def test_the_jax_plugin_leaves_the_process_and_jax_as_they_were(ask, wide):
    program = PROCESS + WORK + JAX.format(wide=wide) + CHANGES.format(state="engine", backend="jax")
    assert ask(program + 'answer["seen"] = after["dtypes"]') == {"seen": ["float64" if wide else "float32"] * 2}


@pytest.mark.long
@needs_jax
def test_importing_the_jax_plugin_before_jax_leaves_jaxs_defaults(ask):
    program = """
import os
environment = dict(os.environ)
import tg
tg.function([x := tg.vector("x")], x + 1, backend="jax")([1.0])
import jax, jax.numpy as jnp
changed = {key for key in {*environment, *os.environ} if environment.get(key) != os.environ.get(key)}
answer = [jax.config.jax_enable_x64, str(jnp.ones(2).dtype), sorted(key for key in changed if "JAX" in key)]
"""
    assert ask(program) == [False, "float32", []]


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("names", [sorted(BACKENDS), sorted(BACKENDS, reverse=True)], ids=["forwards", "backwards"])
def test_all_backends_work_in_one_process_in_either_order(ask, names):
    assert ask(TOGETHER.format(names=names)) == [True] * (3 * len(names))
