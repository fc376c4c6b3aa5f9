"""Namespaces of every backend that is installed."""

from __future__ import annotations

import pytest

import tg
from tg import plugin


def backends():
    """The backends that are installed and have the array API's float64, by name."""
    names = [s.name for s in plugin.registry().backends() if s.is_available]
    records = [plugin.registry().backend(name) for name in names]
    return [b.name for b in records if not b.is_double and (not b.dtypes or "float64" in b.dtypes)]


@pytest.fixture(params=backends())
def xp(request):
    return tg.eager(request.param)


@pytest.fixture
def reference():
    return tg.eager("perform")
