"""Names of single libraries, for `tg.words`: each module has the names that its library alone has.

`ROWS` are names and code that does the same, `WITHOUT` names that have no counterpart, each with the reason and what to
use. What stands in `…` is code that works, as in `tg.words`.
"""
