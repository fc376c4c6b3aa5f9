"""Rules for elementwise functions: `rule(*arrays) -> array`; arrays of one dtype, 0-d or of one rank, broadcast."""
