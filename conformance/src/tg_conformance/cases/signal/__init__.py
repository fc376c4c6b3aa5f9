"""Cases of the families of `ops/signal`."""
