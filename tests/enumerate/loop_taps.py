"""Programs whose loops are `tg.recurrence`: taps behind and ahead of sequences, several outputs, ends, truncation."""

from __future__ import annotations

import numpy as np

from tests.enumerate.loop_kinds import Wide
from tests.enumerate.loop_programs import DTYPES

TAPS = ((0,), (0,), (-1, 0), (0, -1), (-2,), (0, 1), (-1, 1), (-2, -1, 0), (2,), (1, 0, -2))
EARLIER = ((-1,), (-1,), (-2, -1), (-1, -2), (-2,), (-3, -1))


class Tapped(Wide):
    """A program half of whose loops are recurrences with taps; the others are of any kind."""

    def loop(self, kind, scope, loops):
        if kind in "fic" and self.rng.random() < 0.5:
            return self.with_taps(kind, scope, loops - 1)
        return super().loop(kind, scope, loops)

    def with_taps(self, kind, scope, loops):
        """A recurrence whose first output is of this kind; what it does not read of the others comes back too."""
        rng = self.rng
        arrays = [(n, t) for n, t in scope if t[1] and t[0] in "fgic"]
        read = [(n, t, rng.choice(TAPS)) for n, t in rng.sample(arrays, min(len(arrays), rng.choice((0, 1, 1, 2))))]
        types = [(kind, ()), *(rng.choice([(kind, ()), t]) for _, t in rng.sample(arrays, min(1, len(arrays))))]
        types = types[: rng.choice((1, 2))]
        taps = [rng.choice(EARLIER) if k == 0 or rng.random() < 0.6 else () for k in range(len(types))]
        fixed = [(self.name(), t) for t in rng.sample([t for _, t in scope if t[0] in "fi"], 1) if rng.random() < 0.4]
        sources = [rng.choice([n for n, t in scope if t == of]) for _, of in fixed]

        slices = [(self.name(), (t[0], t[1][1:])) for _, t, each in read for _ in each]
        earlier = [[(self.name(), t) for _ in each] for t, each in zip(types, taps, strict=True)]
        inner = [*scope, *slices, *(pair for each in earlier for pair in each), *fixed]
        begin = [
            [self.value(*t, scope, 1, loops if t == (kind, ()) else 0) for _ in range(-min(each, default=0))]
            for t, each in zip(types, taps, strict=True)
        ]
        carried = [k for k, each in enumerate(earlier) if each]
        others = [*slices, *(pair for each in earlier for pair in each[1:])]
        made = self.after([earlier[k][0][0] for k in carried], [types[k] for k in carried], inner, loops, others)
        after = [made.pop(0) if k in carried else self.value(*t, inner, 2, loops) for k, t in enumerate(types)]
        given = [name for name, _ in (*slices, *(pair for each in earlier for pair in each), *fixed)]

        ends = rng.random() < 0.4 and "batched" not in self.forms and not self.has_lanes  # else a length by element
        self.may_end |= ends
        asked = self.value("b", (), inner, 2) if ends else None
        most = rng.choice((-1, -1, -1, 0, 1, 2, 100))
        steps = None if read else rng.choice((0, 1, 3, 5, "k"))
        backwards = rng.random() < 0.3

        def run(space, env):
            def f(*values):
                local = {**env, **dict(zip(given, values, strict=True))}
                found = [g(space, local) for g in after]
                return [*found, asked(space, local)] if ends else found

            def empty(k):
                dtype, shape = types[k]
                return np.empty((0, *(env["sizes"][n] for n in shape)), DTYPES[dtype])

            first = [[g(space, env) for g in each] for each in begin]
            ys = space.recurrences(
                f,
                [(env[n], each) for n, _, each in read],
                list(zip(first, taps, strict=True)),
                [env[n] for n in sources],
                env["k"] if steps == "k" else steps,
                most,
                ends,
                backwards,
                empty,
            )
            found = self.weighted(space, kind, ys[0], first[0][0])
            for y, (of, _) in zip(ys[1:], types[1:], strict=True):
                if of == kind:
                    found = found + space.sum(y)
            return found

        return run
