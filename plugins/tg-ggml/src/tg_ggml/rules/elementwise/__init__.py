"""The rules of elementwise functions."""
