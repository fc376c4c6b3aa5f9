"""Differentiation and batching of expressions: reverse sweeps over the user's graph, before any rewriting."""
