"""Rewriting: patterns, rules, the sweeps that apply them, and the phases in which they run."""
