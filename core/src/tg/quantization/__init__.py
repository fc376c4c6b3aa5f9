"""Quantised weights: packed arrays of NumPy, and functions whose weights and activations are integers."""
