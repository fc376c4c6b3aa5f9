"""Type checkers and editors: mistakes of users are found, right programs raise no alarm, members are completed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import typing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

import tg
from tests.typing.mistakes import HEAD, MISTAKES, OPERANDS
from tests.unit.test_hints import callables
from tg import configuration
from tg.functions import make, pipeline, traceable
from tg.gradient import arguments
from tg.gradient import matrices as matrices_of_derivatives
from tg.integrate import methods, odes
from tg.ops import fourier, groups, indexing, padding, places, quantization, sorting
from tg.ops.linalg import matrices, qr, solving, spectral
from tg.ops.nn import initializers, recurrent, reductions, resizing, windows
from tg.ops.random import vectors
from tg.ops.signal import convolving, filters, lagged_products, resampling, smoothing, spectra, taps
from tg.optimize import minimizers
from tg.quantization import activations, weights
from tg.rewrite import phases
from tg.sparse import solving as sparse_solving
from tg.types import choices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
SOURCES = Path(tg.__file__).parents[1]
RIGHT_HERE = Path(__file__).with_name("right.py")
LEAST = 66  # of the 71 mistakes
RIGHT = (
    RIGHT_HERE,
    *(
        ROOT / "examples" / name
        for name in (
            "bootstrap.py",
            "epidemic.py",
            "gru.py",
            "mixing.py",
            "parallel.py",
            "particles.py",
            "radon.py",
            "networks/autoencoder.py",
            "networks/ensemble.py",
            "networks/graph.py",
            "networks/tagger.py",
        )
    ),
)


def errors_of_pyright(folder: Path) -> dict[tuple[str, int], str]:
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(SOURCES)], "reportMissingImports": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return {
        (Path(one["file"]).name, one["range"]["start"]["line"]): one["message"]
        for one in json.loads(done.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    }


def errors_of_mypy(folder: Path) -> dict[tuple[str, int], str]:
    options = ["--config-file=", "--follow-imports=silent", "--ignore-missing-imports", "--check-untyped-defs"]
    names = sorted(path.name for path in folder.glob("*.py"))
    command = [sys.executable, "-m", "mypy", *options, "--no-pretty", f"--cache-dir={folder / 'cache'}", *names]
    env = {**os.environ, "MYPYPATH": str(SOURCES)}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)
    lines = re.findall(r"^(\w+\.py):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    assert lines or "Success" in done.stdout, done.stdout + done.stderr
    return {(name, int(line) - 1): text for name, line, text in lines}


CHECKERS = {"basedpyright": errors_of_pyright, "mypy": errors_of_mypy}


def test_there_are_71_mistakes() -> None:
    assert len(set(MISTAKES)) == 71


@pytest.mark.parametrize("mistake", [*MISTAKES, *OPERANDS])
def test_each_mistake_raises_where_it_is_run(mistake: str) -> None:
    names: dict[str, object] = {}
    exec(HEAD, names)
    with pytest.raises((TypeError, AttributeError, ValueError)):
        exec(mistake, names)


def test_the_program_that_is_right_runs() -> None:
    exec(compile(RIGHT_HERE.read_text(), "right.py", "exec"), {"__name__": "right"})


@pytest.mark.long(minutes=4)
@pytest.mark.parametrize("checker", CHECKERS)
def test_mistakes_are_found_and_right_programs_raise_no_alarm(checker: str, tmp_path: Path) -> None:
    if find_spec(checker) is None and "CI" not in os.environ:
        pytest.skip("make install brings it")
    (tmp_path / "mistakes.py").write_text(HEAD + "\n".join(MISTAKES) + "\n")
    (tmp_path / "operands.py").write_text(HEAD + "\n".join(OPERANDS) + "\n")
    for path in RIGHT:
        (tmp_path / f"right_{path.name}").write_text(path.read_text())
    assert sum(len(path.read_text().splitlines()) for path in RIGHT) >= 1000
    found = CHECKERS[checker](tmp_path)
    first = HEAD.count("\n")
    lines = {("mistakes.py", first + k): mistake for k, mistake in enumerate(MISTAKES)}
    operands = {("operands.py", first + k): mistake for k, mistake in enumerate(OPERANDS)}
    assert not {place: text for place, text in found.items() if place not in lines | operands}
    assert not [mistake for place, mistake in operands.items() if place not in found]
    missed = [mistake for place, mistake in lines.items() if place not in found]
    assert len(MISTAKES) - len(missed) >= LEAST, missed


WORDS = {  # what functions check at run time, and the literals of their options
    choices.IndexMode: indexing.MODES,
    choices.PadMode: tuple(padding.MODES),
    choices.Side: sorting.SIDES,
    choices.OnError: matrices.ON_ERROR,
    choices.SparseStructure: sparse_solving.STRUCTURES,
    choices.QRMode: (*qr.MODES, "r"),
    choices.Triangle: spectral.TRIANGLES,
    choices.Reduction: reductions.REDUCTIONS,
    choices.ResizeMethod: resizing.METHODS,
    choices.ResizeConvention: resizing.CONVENTIONS,
    choices.SequenceLayout: windows.LAYOUTS[1],
    choices.ImageLayout: windows.LAYOUTS[2],
    choices.VolumeLayout: windows.LAYOUTS[3],
    choices.ConvolutionMode: lagged_products.MODES,
    choices.ConvolutionMethod: lagged_products.METHODS,
    choices.Boundary: convolving.BOUNDARIES,
    choices.Disconnected: arguments.DISCONNECTED,
    choices.Direction: matrices_of_derivatives.DIRECTIONS,
    choices.UnusedInput: make.UNUSED,
    choices.PutMode: tuple(places.COMBINERS),
    choices.TransformNorm: tuple(fourier.DUAL),
    choices.AssumedStructure: solving.ASSUMED.keys() - {None},
    choices.CovarianceRoot: tuple(vectors.ROOTS),
    choices.Nonlinearity: tuple(recurrent.ACTIVATIONS),
    choices.FanMode: tuple(initializers.MODES),
    choices.PackedFormat: tuple(groups.FORMATS),
    choices.WeightFormat: (*weights.LEVELS, *groups.FORMATS),
    choices.ActivationFormat: activations.KINDS,
    choices.LevelDtype: tuple(quantization.LEVELS),
    choices.MinimizeMethod: tuple(minimizers.METHODS),
    choices.OdeMethod: tuple(methods.METHODS),
    choices.OdeAdjoint: tuple(odes.SOLVERS),
    choices.SpectrumAverage: spectra.AVERAGES,
    choices.SpectrogramMode: spectra.MODES,
    choices.DecimationFilter: resampling.DECIMATIONS,
    choices.ResampleDomain: resampling.DOMAINS,
    choices.ResamplePadding: (*resampling.BACKGROUNDS, *taps.EXTENSIONS),
    choices.SignalExtension: taps.EXTENSIONS,
    choices.TrendType: tuple(smoothing.TREND_NAMES),
    choices.CoefficientUse: smoothing.USES,
    choices.SmoothingEdge: (*smoothing.EDGES, "interp"),
    choices.FilterPadding: filters.PADDINGS[:-1],
    choices.OnTraced: traceable.ON_ERROR[1:],
    choices.PhaseName: phases.PHASES,
    choices.PipelineSchedule: pipeline.SCHEDULES,
}

x, m, i = tg.vector("x"), tg.matrix("m"), tg.vector("i", "int64")
b = tg.vector("b", "bool")
t = tg.tensor("t", "float64", (2, 3, 8, 8))
CALLS: Final[dict[object, Callable[[Any], object]]] = {  # of words that are written where they are asked for
    choices.Casting: lambda word: tg.can_cast("int8", "int8", casting=word),
    choices.ReadMode: lambda word: tg.take(x, i, mode=word),
    choices.Order: lambda word: tg.ravel(m, order=word),
    choices.Indexing: lambda word: tg.meshgrid(x, x, indexing=word),
    choices.BitOrder: lambda word: tg.packbits(b, bitorder=word),
    choices.QuantileMethod: lambda word: tg.quantile(x, 0.5, method=word),
    choices.TextStyle: lambda word: tg.to_text(x, style=word),
    choices.Ends: lambda word: tg.trim_zeros(x, word),
    choices.PaddingWord: lambda word: tg.nn.conv1d(tg.ones((1, 1, 8)), tg.ones((1, 1, 3)), padding=word),
    choices.FourBits: lambda word: tg.unpack_int4(tg.vector("q", "uint8"), word),
    choices.AkimaMethod: lambda word: tg.interpolate.Akima1DInterpolator(np.arange(4.0), np.ones(4), method=word),
    choices.SchurOutput: lambda word: tg.linalg.schur(m, word),
    choices.Layout: lambda word: [layout_taken(word, axes) for axes in (1, 2, 3)].index(True),
    choices.Average: lambda word: tg.nn.f1_score(i, i, word),
    choices.Approximation: lambda word: tg.nn.gelu(x, word),
    choices.DivergenceReduction: lambda word: tg.nn.kl_div(m, m, reduction=word),
    choices.SpectrumScaling: lambda word: tg.signal.welch(tg.ones((8,)), nperseg=4, scaling=word),
    choices.TransformScaling: lambda word: tg.signal.stft(tg.ones((8,)), nperseg=4, scaling=word),
    choices.SegmentBoundary: lambda word: tg.signal.stft(tg.ones((8,)), nperseg=4, boundary=word),
    choices.FilterMethod: lambda word: tg.signal.filtfilt([1.0], [1.0, 0.5], tg.ones((20,)), method=word),
    choices.WeightDistribution: lambda word: tg.nn.init.variance_scaling(tg.random.key(0), (3, 2), 1.0, "fan_in", word),
    choices.Output: lambda word: tg.function([x], x, backend="perform", output=word),
    configuration.Mode: lambda word: tg.function([x], x, backend="perform", mode=word),
    configuration.Compile: lambda word: tg.function([x], x, backend="perform", compile=word),
    configuration.Checkpointing: lambda word: tg.function([x], x, backend="perform", checkpointing=word),
}
ALL: Final = sorted({word for literal in (*WORDS, *CALLS) for word in typing.get_args(literal)} | {"frobnicate"})
FREE: Final = {  # texts of which any is taken, or that plugins and backends add to
    "name", "text", "file", "function", "source", "subscripts", "signature", "what", "dim", "axis", "by_name", "key",
    "backend", "op", "node", "reproducer", "doc", "sampler", "format", "dtype", "path", "method",
}  # fmt: skip
FREE_WHERE: Final = {  # whose names are options' elsewhere
    "method": {"GradientCheck", "GradientCheck.__init__"},
    "format": {"export"},
    "dtype": {
        "TensorType", "TensorType.with_dtype", "as_variable", "parameter", "Distribution._checked",
    },
}  # fmt: skip


def layout_taken(word: str, axes: int) -> bool:
    try:
        tg.nn.group_norm(tg.tensor("t", "float64", (2, 4, 4, 4, 4)[: axes + 2]), 2, layout=word)  # type: ignore[arg-type]
    except tg.TgError:
        return False
    return True


@pytest.mark.parametrize("literal", WORDS)
def test_literals_are_the_words_that_functions_take(literal: object) -> None:
    words = WORDS[literal]
    assert typing.get_args(literal) == tuple(words) or set(typing.get_args(literal)) == words


@pytest.mark.parametrize("literal", CALLS)
def test_a_function_takes_the_words_of_its_literal_and_no_other(literal: object) -> None:
    taken = []
    for word in ALL:
        try:
            CALLS[literal](word)
        except (TypeError, ValueError):
            continue
        taken.append(word)
    own = {*typing.get_args(literal)}
    assert own <= {*taken}
    assert {word for word in taken if word.lower() not in own} <= own  # NumPy's trim_zeros takes capital letters too


def literals(hint: Any) -> Iterator[Any]:
    """The literals of words in an annotation."""
    if typing.get_origin(hint) is typing.Literal and all(isinstance(word, str) for word in typing.get_args(hint)):
        yield hint
    for argument in typing.get_args(hint):
        yield from literals(argument)


def test_every_option_of_words_has_a_literal_that_is_compared() -> None:
    compared = {typing.get_args(literal) for literal in (*WORDS, *CALLS)}
    texts, others = {}, {}
    for where, value in callables():
        if where.startswith("tg.backend."):
            continue  # of plugins
        hints = typing.get_type_hints(value)
        hints.pop("return", None)
        for name, hint in [(n, h) for n, h in hints.items() if not n.startswith("_")]:
            own = getattr(value, "__qualname__", where)
            if hint in (str, str | None) and (name not in FREE or own not in FREE_WHERE.get(name, {own})):
                texts[f"{where}({name}=)"] = hint
            others |= {f"{where}({name}=)": one for one in literals(hint) if typing.get_args(one) not in compared}
    assert not texts, "a Literal says the words that it takes; a text of which any is taken stands in FREE"
    assert not others, "WORDS or CALLS compares it with what runs"


JEDI = {  # a line, and members that are to be completed where it ends
    "tg.": {"function", "grad", "nn", "exp", "sum"},
    "tg.nn.": {"Dense", "relu", "softmax", "init"},
    "tg.linalg.": {"solve", "cholesky"},
    "tg.special.": {"erf", "gammaln"},
    "tg.random.": {"normal", "key"},
    'tg.vector("x").': {"sum", "shape", "at", "eval", "dtype"},
    "tg.shared(0.0).": {"get_value", "set_value", "sum"},
    'tg.sum(tg.vector("x")).': {"eval", "reshape"},
    'tg.exp(tg.vector("x")).': {"eval", "reshape"},
    'tg.grad(tg.sum(tg.vector("x")), tg.vector("x")).': {"eval", "reshape"},
    'tg.vector("x").at[0].': {"set", "add", "get"},
    'tg.vector("x").at[0].set(1.0).': {"eval", "sum"},
    'tg.function([], tg.scalar("s")).': {"profile", "source", "explain", "shared"},
    "tg.config.": {"mode", "backend"},
}


@pytest.mark.sampled(7)
@pytest.mark.skipif(find_spec("jedi") is None and "CI" not in os.environ, reason="make install brings jedi")
@pytest.mark.parametrize("line", JEDI)
def test_editors_complete_members(line: str) -> None:
    import jedi

    text = f"import tg\n{line}"
    names = {one.name for one in jedi.Script(text, path=str(ROOT / "scratch.py")).complete()}
    assert names >= JEDI[line], JEDI[line] - names
