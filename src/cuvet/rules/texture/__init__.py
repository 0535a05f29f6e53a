"""Rules about textures."""
