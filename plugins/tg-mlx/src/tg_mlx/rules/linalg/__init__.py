"""Linear algebra, file by file as core's `ops/linalg`."""
