"""The translator as a folder."""
