"""Exported subgraphs joined to one ONNX graph."""
