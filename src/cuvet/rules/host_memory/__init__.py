"""Rules about pinned and registered host memory."""
