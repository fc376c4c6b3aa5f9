"""Linking: from a frozen graph to something that runs. Arrays in, arrays and a status out."""
