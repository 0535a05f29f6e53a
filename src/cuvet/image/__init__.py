"""Says what the bytes of a device code image are: cubin, fatbin, PTX or unknown."""

from cuvet.image.describe import ImageDescription, describe
from cuvet.image.errors import ImageError

__all__ = ["ImageDescription", "ImageError", "describe"]
