"""A function run along its paths, through the model."""
