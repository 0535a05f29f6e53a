"""Names of the shared objects that the driver and the runtime are found by."""

DRIVER = "libcuda.so.1"
RUNTIMES = ("libcudart.so.12", "libcudart.so.13")
"""Those whose entry points are in the catalog, oldest first."""
