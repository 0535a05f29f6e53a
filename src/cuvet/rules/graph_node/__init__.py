"""Rules about graph nodes."""
