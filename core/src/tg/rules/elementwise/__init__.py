"""Rules about functions applied to each element."""
