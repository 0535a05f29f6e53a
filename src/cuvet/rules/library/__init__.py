"""Rules about librarys."""
