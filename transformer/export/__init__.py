"""Export: model with search as one ONNX graph, held against PyTorch."""
