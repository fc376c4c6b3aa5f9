"""Programs of tg written in ONNX's format: rules that make its nodes, patterns that it has one node for, models."""
