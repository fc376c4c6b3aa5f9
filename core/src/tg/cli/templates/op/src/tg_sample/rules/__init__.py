"""Rules, a file for each backend: `rule(*arrays)` of an elementwise function, `rule(op, *arrays)` of an op."""
