"""Write the stubs down: `python -m tests.stub`."""

from tests.stub.stub import STUB, SURFACE, stub, surface

STUB.write_text(stub())
SURFACE.write_text(surface())
