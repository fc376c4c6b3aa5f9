"""Special functions that XLA computes to the last digits; the others are expanded."""
