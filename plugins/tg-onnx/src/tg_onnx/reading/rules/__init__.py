"""Rules by family of ops; each file ends with its table, `RULES`: op, then where versions differ, the first version."""
