"""Variables as users make them: constructors, constants, conversion of Python and NumPy values."""
