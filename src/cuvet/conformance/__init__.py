"""Tests whether the model predicts the driver: runs random programs on a real driver, records them, and compares with the model."""
