"""ONNX's own tests of nodes, which the wheel of onnx makes: each is a model, inputs, and outputs of the reference."""
