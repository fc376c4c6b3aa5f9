"""Rules for ops that are loops, the same for every backend that writes code; in files named as core's `ops/`."""
