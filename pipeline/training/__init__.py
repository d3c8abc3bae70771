"""Around a training: its processes, what it resumes from, its log."""
