"""What backends that write code themselves have in common: fusion, plans, loops, kernels, entries."""
