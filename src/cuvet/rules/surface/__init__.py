"""Rules about surfaces."""
