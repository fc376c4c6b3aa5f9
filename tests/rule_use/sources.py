"""The programs that rewrites are for, by source: none was written with a rewrite in view.

Some are compiled in this process, for the reference and for C, with their first and second derivatives; others are
tests, in a run of pytest of their own.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import tg
from tests.enumerate.derivatives import catalog, judge
from tests.replay import program as replay
from tests.rule_use.watch import read, watched
from tg.functions.backends import backend
from tg.functions.compile import Setting, rewritten
from tg.graph.function_graph import FunctionGraph
from tg.types.dtypes import is_float

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PEER = ROOT / "plugins/tg-pytensor"
FORMS = {"arithmetic", "indexing", "powers", "reductions", "shapes"}  # families of the corpus that show forms of rules
PAGES = (
    "differential_equations", "distributions", "jax", "loops", "networks", "numpy", "random", "solvers", "training",
    "tutorial",
)  # fmt: skip
LIBRARY = ("distributions", "nn", "optimize", "integrate", "interpolate", "random", "demo")
REPORTS = (
    "tests/unit/gradient/test_kinks.py",
    "tests/unit/gradient/test_limits.py",
    "tests/unit/gradient/test_stable_forms.py",
    "tests/unit/gradient/test_where_exponentials_overflow.py",
    "tests/unit/gradient/test_given.py",
    "tests/unit/rules/test_stability.py",
    "tests/unit/rules/test_stable_choices.py",
    "tests/unit/rules/test_tails.py",
)
SIZES = {"wide": 60, "mix": 30, "deep": 60}


def compile_all(inputs, outputs):
    """Rewrite a program, and the derivatives of its first result; once more where nothing is infinite or NaN."""
    first, second = derivatives(inputs, outputs)
    for extra, wanted in (((), outputs), first, second):
        for name, mode in (("perform", "default"), ("c", "default"), ("perform", "finite")):
            if wanted and not (mode == "finite" and extra):
                rewritten(FunctionGraph.of([*inputs, *extra], wanted), Setting(backend(name), mode))


def derivatives(inputs, outputs):
    """The gradient of a sum by all that floats, and that along a direction; nothing where there is none."""
    moved = [v for v in inputs if is_float(v.type.dtype)]
    if not moved or not is_float(outputs[0].type.dtype):
        return ((), ()), ((), ())
    along = [tg.tensor(f"d{k}", v.type.dtype, v.type.shape) for k, v in enumerate(moved)]
    try:
        first = tg.grad(tg.sum(outputs[0]), moved, disconnected="zero")
        return ((), first), (along, tg.vjp(first, moved, along, disconnected="zero"))
    except tg.TgError:
        return ((), ()), ((), ())


def of_corpus():
    """The programs of the replay corpus but for those that show forms."""
    for family in replay.FAMILIES:
        if family not in FORMS:
            for one in replay.programs(family):
                yield f"replay/{family}: {one.name}", partial(replay.expression, one)


def written():
    """The programs of the files beside this one, each of which names what it is from."""
    for path in sorted((HERE / "programs").glob("*.py")):
        for one in importlib.import_module(f"tests.rule_use.programs.{path.stem}").PROGRAMS:
            yield f"{path.stem}: {one.name}", partial(replay.expression, one)


def tensor(name, dtype, rank):
    """An input of a rank whose lengths are not known."""
    return tg.tensor(name, dtype, [None] * rank)


def measured():
    """The programs that are measured."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import workloads

    for name in (*SIZES, *workloads.MODELS):
        yield f"benchmarks: {name}", partial(workloads.expression, tg, tg.grad, tensor, name, SIZES.get(name, 0))


def hard():
    """The programs of kinks and tails."""
    for one in catalog.fixed():
        yield one.text, partial(built, one)


def built(one):
    """The inputs and the result of a program of a text."""
    variables, y = judge.built(one)
    return variables, [y]


def compiled(programs):
    """What fires in programs that are made here."""
    with watched() as watch:
        for watch.program, make in programs():
            compile_all(*make())
    return watch.ledger


def pages():
    """What fires in the code of pages that show tg at work."""
    spec = importlib.util.spec_from_file_location("examples", ROOT / "docs/_ext/examples.py")
    examples = sys.modules["examples"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(examples)
    with watched() as watch:
        for page in PAGES:
            watch.program = f"docs/{page}.md"
            examples.run((ROOT / watch.program).read_text())
    return watch.ledger


def of_tests(*paths, python=sys.executable, folder=ROOT, options=()):
    """What fires in tests."""
    with tempfile.TemporaryDirectory(prefix="tg-rule-use-") as scratch:
        ledger = Path(scratch) / "ledger.json"
        settings = {
            "RULE_USE": str(ledger), "PYTHONPATH": str(HERE), "TG_BACKEND": "c", "TG_CACHE_DIR": scratch,
            "TG_REMEMBER": "false", "PYTENSOR_FLAGS": f"mode=FAST_COMPILE,cxx=,base_compiledir={scratch}",
        }  # fmt: skip
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "watch", *options, *map(str, paths)]
        subprocess.run(command, cwd=folder, env={**os.environ, **settings}, check=False)
        return read(ledger)


def of_pymc():
    """What fires in the models of PyMC."""
    with tempfile.TemporaryDirectory(prefix="tg-rule-use-") as scratch:
        ledger = Path(scratch) / "ledger.json"
        flags = {"PYTENSOR_FLAGS": f"cxx=,base_compiledir={scratch}", "TG_CACHE_DIR": scratch}
        command = [PEER / ".venv/bin/python", HERE / "peer_models.py", ledger]
        subprocess.run(command, env={**os.environ, **flags}, check=True)
        return read(ledger)


def of_pytensor(checkout):
    """What fires in the graphs of PyTensor's own tests, as they were written."""
    options = ("-p", "peer", "-W", "ignore", "--tb=no")
    return of_tests("tests/tensor", "tests/scan", python=PEER / ".venv/bin/python", folder=checkout, options=options)


SOURCES = {
    "programs": lambda: compiled(written),
    "replay": lambda: compiled(of_corpus),
    "benchmarks": lambda: compiled(measured),
    "docs": pages,
    "examples": lambda: of_tests("tests/examples"),
    "library": lambda: of_tests(*(f"tests/unit/{name}" for name in LIBRARY)),
    "reports": lambda: of_tests(*REPORTS),
    "derivatives": lambda: compiled(hard),
    "pymc": of_pymc,
}
