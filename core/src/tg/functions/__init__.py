"""Compiled functions: arguments, shared variables, updates, specialisation, and raising from the status."""
