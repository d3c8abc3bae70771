"""The encoder-decoder Transformer: tensors in, tensors out. No files, no text, no params."""
