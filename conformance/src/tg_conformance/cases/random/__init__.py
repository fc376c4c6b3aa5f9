"""Cases of random numbers, file by file as core's `ops/random`."""
