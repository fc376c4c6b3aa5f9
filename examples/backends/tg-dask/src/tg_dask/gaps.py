"""What the backend does not do, one entry for each case; the conformance suite holds it to that."""

GAPS = ()
