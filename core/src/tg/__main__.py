"""`python -m tg`, for where the script `tg` is not on the path."""

import sys

from tg.cli import main

if __name__ == "__main__":
    sys.exit(main())
