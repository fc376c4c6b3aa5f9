"""Rules for functions of single elements: C text over the operands x, y, z (see `tg_c.templates`)."""
