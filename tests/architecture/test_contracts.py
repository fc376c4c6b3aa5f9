"""Habits of the code that a reader relies on: documented hooks, slots, immutability, public names."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import tg
from tg import plugin
from tg.graph.nodes import Apply, Constant, Variable
from tg.graph.op import Op
from tg.ops.catalog import ELEMENTWISE, FAMILIES, INTERNAL, NAMES
from tg.plugin import hookspecs
from tg.types.atoms import AxisLength, Derived
from tg.types.lengths import Length
from tg.types.tensor_type import TensorType

ROOT = Path(__file__).parents[2]
HOOKS = [fn for name, fn in vars(hookspecs).items() if name.startswith("tg_")]
OPS = sorted({op for family in FAMILIES for op in family.ops}, key=lambda op: op.__name__)
FUNCTIONS = [fn for family in FAMILIES for fn in family.functions]
RECORDS = [fn for family in FAMILIES for fn in family.elementwise]
DERIVATIVES = ("_da", "_daa", "_db", "_dn", "_ds", "_dss", "_dv", "_along", "_along_two")


@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h.__name__)
def test_every_hook_states_its_contract(hook: object) -> None:
    text = inspect.getdoc(hook) or ""
    for section in ("When:", "Returns:", "Combine:", "Promise:", "Since:"):
        assert section in text


def test_there_are_six_hooks() -> None:
    assert len(HOOKS) == 6


@pytest.mark.parametrize(
    "cls", [Variable, Constant, Apply, TensorType, Length, AxisLength, Derived, *OPS], ids=lambda c: c.__name__
)
def test_what_graphs_are_made_of_has_slots(cls: type) -> None:
    assert all("__dict__" not in vars(base) for base in cls.__mro__ if base is not object)


@pytest.mark.parametrize("op", OPS, ids=lambda c: c.__name__)
def test_every_op_is_final_documented_and_runs(op: type[Op]) -> None:
    assert getattr(op, "__final__", False)
    assert re.match(r"[^\n]+\.", op.__doc__ or "")
    assert op.perform is not Op.perform or op.has_expansion
    assert op.infer is not Op.infer


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.name)
def test_every_elementwise_record_is_complete(record: object) -> None:
    assert record.doc.endswith(".")
    assert record.d is None or len(record.d) == record.arity


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_public_function_is_documented(function: object) -> None:
    assert inspect.getdoc(function)


def test_every_name_that_tg_offers_can_be_had() -> None:
    for name in dir(tg):
        assert getattr(tg, name) is not None or name == "newaxis"
    assert set(NAMES) <= set(dir(tg))


def test_names_that_users_do_not_write_stand_in_no_list() -> None:
    internal = {*INTERNAL, *(name for name in ELEMENTWISE if name.endswith(("_draw", *DERIVATIVES)))}
    assert internal & {*dir(tg), *dir(tg.eager("perform")), *dir(tg.special)} == set()
    assert all(fn in family.elementwise for family in FAMILIES for fn in family.internal)


def test_doubles_of_backends_are_not_offered() -> None:
    assert "loopback" not in {one.name for one in tg.backends()}
    assert "loopback" in {one.name for one in plugin.registry().backends()}


def test_names_are_numpy_names_where_numpy_has_them() -> None:
    import numpy as np

    own = {
        "array",
        "call",
        "cast",
        "inverse_mills",
        "getitem",
        "logsumexp",
        "log_softmax",
        "named",
        "sigmoid",
        "softmax",
    }
    own |= {"softplus", "matern_3_2", "matern_5_2", "log_cosh", "sech"}
    own |= {"bitwise_invert", "stop_gradient"}
    own |= {"assume", "grad_clip", "grad_scale", "shard", "stage"}
    own |= {"dequantize_groups"}  # the formats are those of GGML
    own |= {"block_diag", "flatten", "join_dims", "pack", "same_shape", "specify_shape", "split_dims", "unpack"}
    own |= {"cummax", "cummin", "logcumsumexp", "norm", "one_hot", "topk"}
    own |= {"associative_scan", "cond", "fori_loop", "map", "recurrence", "reduce", "scan", "until", "while_loop"}
    own |= {"assert_", "checkpoint", "custom_jvp", "custom_vjp"}
    own |= {"complex", "expit", "fma", "log1mexp", "log_sigmoid", "logit", "relu", "switch", "xlog1py", "xlogy"}
    own |= set(tg.special.__all__)  # SciPy's
    own |= {"log_beta_tail", "log_gamma_lower", "log_gamma_upper"}
    own |= {"dequantize", "fake_quantize", "integer_matmul", "pack_int4", "quantize", "unpack_int4"}  # ONNX's
    assert {name for name in NAMES if not hasattr(np, name)} <= own
