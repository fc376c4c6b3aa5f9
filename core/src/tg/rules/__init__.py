"""The rewrite rules of core, in files named as the op families they are about: what is true of pairs of ops."""
