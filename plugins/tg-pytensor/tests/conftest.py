"""Settings of all tests: PyTensor compiles into a folder of this run, and says no more than it must."""

import os
import tempfile

os.environ.setdefault("PYTENSOR_FLAGS", f"base_compiledir={tempfile.mkdtemp(prefix='pytensor-')}")
