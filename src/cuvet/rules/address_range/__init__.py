"""Rules about reserved ranges of addresses."""
