"""What a GPU does with this project: measured in parts, each restartable within minutes."""
