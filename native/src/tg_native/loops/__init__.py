"""Loops as they are written, in any language: where their stages find what they read."""
