"""Loops over matrices: their elements, small ones in registers, what is handed to LAPACK."""
