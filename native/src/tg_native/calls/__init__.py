"""How compiled programs are called, and what they call: entries, the layout of objects, BLAS."""
