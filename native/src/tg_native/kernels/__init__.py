"""Functions of vectors: what is known of them in every language."""
