"""Settings of all tests: PyTensor compiles into a folder of this run; what needs PyMC is left out where it is not."""

import importlib.util
import os
import re
import tempfile
from pathlib import Path

os.environ.setdefault("PYTENSOR_FLAGS", f"base_compiledir={tempfile.mkdtemp(prefix='pytensor-')}")

if importlib.util.find_spec("pymc") is None:
    needs = re.compile(r"^(import (pymc|test_random)|from (pymc|models28) )|docs/pymc", re.MULTILINE)
    collect_ignore = [test.name for test in Path(__file__).parent.glob("test_*.py") if needs.search(test.read_text())]
