"""Mistakes in `tg.function` and its options: found before anything is compiled."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tg

# --- inputs and outputs


def test_a_variable_that_is_no_input(mistake):
    x, scale = tg.vector("x"), tg.scalar("scale")
    y = x * scale
    with mistake(tg.InputError, "<scale : float64[]> is used but is not among the inputs", "created at", "hint:"):
        tg.function([x], y)


def test_an_input_given_twice(mistake):
    x = tg.vector("x")
    with mistake(tg.InputError, "inputs 0 and 1 are the same variable <x : float64[?]>"):
        tg.function([x, x], x + 1)


def test_an_input_that_is_not_used(mistake):
    x, y = tg.vector("x"), tg.vector("y")
    with mistake(tg.InputError, "input 1, <y : float64[?]>, is not used", 'hint: on_unused_input="ignore"'):
        tg.function([x, y], x + 1)


def test_an_input_that_is_an_expression(mistake):
    x = tg.vector("x")
    y = x + 1
    with mistake(tg.InputError, "input 0: found <add(…) : float64[?]>, needed an input variable", "hint: givens"):
        tg.function([y], y * 2)


def test_an_input_that_is_an_array(mistake):
    x = tg.vector("x")
    with mistake(tg.InputError, "input 0: found array([1.])", "needed a variable"):
        tg.function([np.ones(1)], x)


def test_an_output_that_is_no_array(mistake):
    x = tg.vector("x")
    with mistake(tg.InputError, "found 'x'", "hint:"):
        tg.function([x], {"sum": tg.sum(x), "name": "x"})


# --- updates, givens, defaults


def test_an_update_of_a_variable_without_a_value(mistake):
    x = tg.vector("x")
    with mistake(tg.InputError, "updates: found <x : float64[?]>, needed a shared variable", "hint: tg.shared"):
        tg.function([x], x, updates={x: x + 1})


def test_an_update_with_another_dtype(mistake):
    count, rate = tg.shared(0, "count"), tg.scalar("rate")
    with mistake(tg.DtypeError, "update of <shared count : int64[]>: found float64[], needed int64", "hint: tg.cast"):
        tg.function([rate], [], updates={count: count + rate})


def test_an_update_of_another_rank(mistake):
    total, x = tg.shared(0.0, "total"), tg.vector("x")
    with mistake(tg.ShapeError, "update of <shared total : float64[]>: found float64[?], needed float64[]", "hint:"):
        tg.function([x], [], updates={total: total + x})


def test_updates_that_are_no_mapping(mistake):
    count = tg.shared(0, "count")
    with mistake(tg.InputError, "updates: found <shared count : int64[]>", "needed a mapping", "hint:"):
        tg.function([], count, updates=count)


def test_a_given_of_another_type(mistake):
    x, k = tg.vector("x"), tg.scalar("k")
    with mistake(tg.InputError, "givens: found float64[] for <x : float64[?]>, needed its dtype and rank"):
        tg.function([k], tg.sum(x), givens={x: k})


def test_a_default_that_is_no_value_of_the_input(mistake):
    x = tg.vector("x", dtype="int64")
    with mistake(tg.DtypeError, "input 'x': found dtype float64, needed int64", "hint:"):
        tg.function([x], x + 1, defaults={x: np.array([0.5])})


# --- backends and options


def test_a_backend_that_does_not_exist(mistake):
    x = tg.vector("x")
    with mistake(tg.BackendUnavailable, "backend 'jaxx'", "hint:"):
        tg.function([x], x + 1, backend="jaxx")


def test_a_backend_that_is_no_name(mistake):
    x = tg.vector("x")
    with mistake(tg.InputError, "backend: found 3, needed a name or tg.backend(name, …)"):
        tg.function([x], x + 1, backend=3)


def test_an_option_that_does_not_exist(mistake, backend):
    with mistake(tg.OptionError, f"backend {backend!r}: unknown option 'devise'", "options"):
        tg.backend(backend, devise="cpu")


def test_an_option_of_another_type(mistake, backend):
    for field in dataclasses.fields(tg.backend(backend).options):
        with mistake(tg.OptionError, f"backend {backend!r}: option {field.name}: found 0.5, needed"):
            tg.backend(backend, **{field.name: 0.5})


def test_a_mode_that_does_not_exist(mistake):
    x = tg.vector("x")
    with mistake(tg.OptionError, "mode: found 'fast', needed one of default, strict, finite, off"):
        tg.function([x], x + 1, mode="fast")


@pytest.mark.parametrize(
    ("mode", "hint"),
    [("JAX", 'backend="jax"'), ("PYTORCH", 'backend="torch"'), ("CVM", 'backend="c"'), ("FAST_RUN", 'mode="default"'),
     ("FAST_COMPILE", 'mode="off"'), ("NanGuardMode", "nan_guard=True")],
)  # fmt: skip
def test_a_mode_of_pytensor(mistake, mode, hint):
    x = tg.vector("x")
    with mistake(tg.OptionError, f"mode: found '{mode}', needed one of default", f"hint: {hint}"):
        tg.function([x], x + 1, mode=mode)


def test_a_mode_of_pytensor_in_the_configuration(mistake):
    with mistake(tg.OptionError, "config: mode: found 'JAX', needed one of default", "hint: backend= says"):
        tg.config(mode="JAX")


def test_a_setting_that_does_not_exist(mistake):
    with mistake(tg.OptionError, "config: unknown option 'backends'", "hint: backend exists"), tg.config(backends="c"):
        pass


def test_a_setting_of_another_type(mistake):
    found = "config: specializations: found 'many', needed int"
    with mistake(tg.OptionError, found), tg.config(specializations="many"):
        pass
