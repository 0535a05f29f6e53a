"""Rules about captures."""
