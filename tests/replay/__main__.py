"""Write down what rewriting makes of the corpus: `python -m tests.replay [FAMILY ...]`; a reviewer reads the diff."""

import sys

from tests.replay.program import FAMILIES, golden, replayed


def main() -> None:
    for family in sys.argv[1:] or FAMILIES:
        path = golden(family)
        path.parent.mkdir(exist_ok=True)
        old = path.read_text() if path.exists() else ""
        new = replayed(family)
        path.write_text(new)
        sys.stdout.write(f"{family}: {'changed' if new != old else 'as it was'}\n")


if __name__ == "__main__":
    main()
