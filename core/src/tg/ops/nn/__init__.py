"""Functions of networks, family by family: what `tg.nn` has."""
