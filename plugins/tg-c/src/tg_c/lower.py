"""What the C backend does to a graph before it is compiled: elementwise ops are gathered into loops."""

from __future__ import annotations

from typing import Final

from tg.link.fused import fuse
from tg.plugin.records import Rewrites
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import Lowering

REWRITES: Final = Rewrites(
    passes=(
        Lowering(
            "fuse_loops",
            kind=EXACT,
            why="One pass over memory instead of one for each op; what only the loop reads is never stored.",
            run=fuse,
        ),
    )
)
