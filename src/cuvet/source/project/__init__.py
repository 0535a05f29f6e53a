"""What several functions, or several files, show together."""
