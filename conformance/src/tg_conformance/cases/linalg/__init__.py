"""Cases of linear algebra, file by file as core's `ops/linalg`."""
