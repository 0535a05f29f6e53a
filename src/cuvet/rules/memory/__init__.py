"""Rules about memory accessible to devices."""
