"""Special functions that PyTorch computes to the last digits; the others are expanded."""
