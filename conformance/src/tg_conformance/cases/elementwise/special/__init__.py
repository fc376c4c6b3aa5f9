"""Cases of special functions."""
