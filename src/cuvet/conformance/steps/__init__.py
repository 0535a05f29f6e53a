"""What a random program may do next, by noun. ``STEPS`` of a module: (how often, what)."""
