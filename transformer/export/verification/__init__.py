"""The exported graphs held against PyTorch."""
