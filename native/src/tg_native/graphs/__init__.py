"""The function of a graph, whatever the language: order of steps, lengths, memory, outputs, inner graphs, its unit."""
