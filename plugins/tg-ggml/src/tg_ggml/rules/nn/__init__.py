"""The rules of functions of networks."""
