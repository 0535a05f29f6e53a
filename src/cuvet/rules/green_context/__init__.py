"""Rules about green contexts."""
