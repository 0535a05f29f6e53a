"""What each enumerator means: one module an API, each with ``MEANINGS`` by enumerator."""
