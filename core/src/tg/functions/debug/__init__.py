"""Checking on the inputs of a call what rewriting and the backend did: `mode="debug"`."""
