"""Rules about graphs."""
