"""Differentiation and batching of expressions: reverse sweeps over the user's graph, before any rewriting."""

from tg.words import no_function

no_function(__name__)
