"""The causes that no rule finds, and the signs of those that rules find: each module has ``CAUSES``."""
