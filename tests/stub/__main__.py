"""Write the stub `tg/__init__.pyi` anew: `python -m tests.stub`."""

from tests.stub.stub import STUB, stub

STUB.write_text(stub())
