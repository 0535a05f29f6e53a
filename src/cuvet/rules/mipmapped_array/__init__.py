"""Rules about mipmapped arrays."""
