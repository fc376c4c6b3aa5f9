"""Models in ONNX's format: what is read becomes a program of tg, and a program of tg is written."""
