"""Rules about streams."""
