"""What calls show as they stand in the text, without a path."""
