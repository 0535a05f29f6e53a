"""Rules about kernels."""
