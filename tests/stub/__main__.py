"""Write the stubs down: `python -m tests.stub`."""

from tests.stub.stub import stubs

for path, text in stubs().items():
    path.write_text(text)
