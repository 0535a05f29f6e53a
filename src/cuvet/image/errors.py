class ImageError(Exception):
    """The bytes are not what they should be. The text says what is wrong, in a few words."""
