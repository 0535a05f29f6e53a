"""Rules about contexts."""
