"""The compiled entry of units: what it keeps alive, and where there is none."""

import gc
import threading
import typing
import weakref

import numpy as np
import pytest

import tg
from tg.functions.compiled import Function
from tg.graph.frozen import FrozenGraph
from tg.link.signature import Signature
from tg.types.tensor_type import TensorType
from tg.variables.structure import LEAF, Structure
from tg_c import entry, unit
from tg_native.calls.entry import Native
from tg_native.calls.interface import MOST, interface_of


class Point(typing.NamedTuple):
    x: object
    y: object


def test_a_function_and_its_unit_go_together():
    x = tg.vector("x")
    f = tg.function([x], Point(x, tg.sum(x * x)), backend="c")
    f(np.ones(3))
    whole, part = weakref.ref(f), weakref.ref(f.programs.main.executable._unit)
    call = f.__call__
    del f
    gc.collect()
    assert call(np.ones(3)).y == 3  # what is called keeps all it needs
    del call
    gc.collect()
    assert (whole(), part()) == (None, None)


WAITING = """
long long tg_plan(const void *const *inputs, const long long *dims, long long *found, long long *status) { return 0; }
/* Waits until the input is not 0, a long time at most. */
long long tg_run(const void *const *inputs, const long long *dims, void *const *outputs, long long *status) {
  const volatile long long *flag = inputs[0];
  for (long long k = 0; k < 20000000000LL; k++)
    if (*flag) { *(long long *)outputs[0] = *flag; return 0; }
  return 1;
}
"""


def test_other_threads_run_during_a_long_call():
    waiting = unit.load(WAITING)
    interface = interface_of(FrozenGraph(1, [TensorType("int64", (2000,))], [], [], [0]))
    native = Native(waiting.address("tg_run"), 0, (), waiting)
    call = entry.make(interface, native, Signature(lambda *_: pytest.fail("declined"), Structure(LEAF)))
    assert call is not None
    flag, found = np.zeros(2000, np.int64), []
    assert flag.size > interface.patience
    thread = threading.Thread(target=lambda: found.append(call(flag)))
    thread.start()
    flag[0] = 7  # it waits for this
    thread.join()
    assert found[0][0] == 7


def test_without_an_entry_functions_are_called_through_python(monkeypatch):
    monkeypatch.setattr(entry, "opened", lambda: None)
    x = tg.vector("x")
    f = tg.function([x], x + 1, backend="c")
    assert type(f.__call__).__name__ != "builtin_function_or_method"
    assert f(np.ones(2)).tolist() == [2.0, 2.0]


def test_a_function_stays_one():
    x = tg.vector("x")
    f = tg.function([x], x + 1, backend="c", name="plus")
    assert isinstance(f, Function)
    assert callable(f)
    assert repr(f) == "<plus(x) on c>"
    assert "tg_run" in f.source(full=True)


@pytest.mark.long
def test_a_function_with_more_than_a_frame_holds_is_called_through_python():
    xs = [tg.scalar(f"x{k}") for k in range(MOST + 1)]
    f = tg.function(xs, tg.sum(tg.stack(xs)), backend="c")
    assert type(f.__call__).__name__ != "builtin_function_or_method"
    assert f(*range(MOST + 1)) == sum(range(MOST + 1))
