"""Rules about pools."""
