"""Cases of `ops/nn`, file by file."""
