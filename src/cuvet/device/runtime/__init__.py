"""The emulated CUDA runtime: what NVIDIA's libcudart does, told as driver calls.

One module per CUDA noun; a function named like an entry point answers it, as a generator. The driver calls that it makes go
through the shim's wrappers, so that they are checked and recorded as on hardware.
"""
