"""Linear algebra of matrices along the last two axes, family by family: what `tg.linalg` has."""
