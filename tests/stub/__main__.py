"""Write down the stubs and the table of homes: `python -m tests.stub`."""

from tests.stub import homes
from tests.stub.stub import stubs

homes.TABLE.write_text(homes.table())
for path, text in stubs().items():
    path.write_text(text)
