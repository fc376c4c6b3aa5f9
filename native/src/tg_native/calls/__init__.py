"""Calls of compiled programs and what these call: entries, the layout of objects, BLAS."""
