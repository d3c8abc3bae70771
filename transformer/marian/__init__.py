"""MarianMT models, the form of Helsinki-NLP's OPUS-MT: read into this project's, and written."""
