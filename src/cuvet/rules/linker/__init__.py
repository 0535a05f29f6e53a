"""Rules about linkers."""
