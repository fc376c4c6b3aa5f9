"""Attention by blocks of keys: weights are made of a block's scores, used, and forgotten."""
