"""The Numba backend of tg: not implemented in this version, and not registered as a backend."""

__version__ = "0.1.0"
