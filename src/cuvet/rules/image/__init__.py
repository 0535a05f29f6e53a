"""Rules about the images that modules and libraries are loaded from."""
