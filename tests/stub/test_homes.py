"""Names are imported from the families that define them, and a program imports no others."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.stub.homes import TABLE, homes, table
from tg.ops.catalog import ELEMENTWISE
from tg.ops.elementwise.record import own_function
from tg.ops.homes import HOMES

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import sys
import numpy as np
import tg

x = tg.vector("x")
f = tg.function([x], tg.sum(tg.exp(x) ** 2), backend="{backend}")
assert f(np.zeros(3)) == 3
print(*(name for name in sys.modules if name.startswith("tg.ops")))
"""


def test_the_table_of_homes_is_that_of_the_catalog() -> None:
    assert TABLE.read_text() == table(), "if families were meant to change: make stub, and commit the files"
    assert homes() == HOMES


def test_elementwise_functions_are_known_by_name() -> None:
    assert all(own_function(name) is fn for name, fn in ELEMENTWISE.items())
    assert own_function("sum") is None  # a function, and no elementwise one
    assert own_function("abs") is None  # another name of `absolute`
    assert own_function("no_such_function") is None


def test_the_second_process_of_a_program_imports_few_families(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT.format(backend="c")]
    environment = {**os.environ, "TG_CACHE_DIR": str(tmp_path), "TG_REMEMBER": "true"}
    subprocess.run(command, check=True, capture_output=True, env=environment)  # what is kept on disk is written
    modules = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.split()
    assert "tg.ops.reductions" in modules
    assert "tg.ops.catalog" not in modules
    assert not [
        name for name in modules if name.startswith(("tg.ops.nn.", "tg.ops.elementwise.special", "tg.ops.linalg"))
    ]
