"""Fusion: ops over one index space, gathered into loops."""
