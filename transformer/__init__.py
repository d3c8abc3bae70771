"""Neural machine translation: model, text, training, search, export, serving."""
