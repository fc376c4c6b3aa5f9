"""Random numbers, all read from the bits that a key has at a counter."""
