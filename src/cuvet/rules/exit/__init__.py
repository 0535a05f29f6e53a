"""Rules about the end of the process."""
