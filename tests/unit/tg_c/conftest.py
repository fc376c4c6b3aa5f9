"""The backend of these tests."""

import pytest


@pytest.fixture
def backend():
    return "c"
