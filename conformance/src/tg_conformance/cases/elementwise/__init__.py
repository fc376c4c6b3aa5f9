"""Cases of elementwise functions: generated from the records, and written where that is not enough."""
