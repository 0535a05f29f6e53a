"""Rules about launches."""
