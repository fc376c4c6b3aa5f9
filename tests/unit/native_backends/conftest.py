"""The backends that generate code of their own, and what they have."""

import pytest

from tg import plugin


def native_backends():
    """Those that raise by themselves, but for the reference."""
    found = (plugin.registry().backend(s.name) for s in plugin.registry().backends() if s.is_available)
    return [b.name for b in found if b.raises and b.requires]


@pytest.fixture(params=native_backends())
def backend(request):
    """One backend; a test in a dtype that the backend does not have is none of its tests."""
    given = request.node.callspec.params
    named = {given[key] for key in ("dtype", "source") if key in given}
    if not named <= plugin.registry().backend(request.param).dtypes:
        pytest.skip(f"{request.param} has no {', '.join(named)}")
    return request.param


@pytest.fixture
def dtypes(backend):
    """The dtypes that the backend has."""
    return plugin.registry().backend(backend).dtypes
