"""Rules for functions of single elements: Python expressions over x, y and z (see `tg_numba.element`)."""
