"""Rules about arrays."""
