"""Functions for programs without tg: names of inputs and outputs, golden values, and the writers of plugins."""
