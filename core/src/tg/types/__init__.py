"""What flows along an edge of a graph: dtypes, lengths, and the one type of value, `TensorType`."""
