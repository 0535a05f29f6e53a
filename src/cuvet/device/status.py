"""The CUresult numbers that the emulated driver answers with."""

from __future__ import annotations

from cuvet.catalog import status_value


def _driver(name: str) -> int:
    return status_value("driver", f"CUDA_{name}")


SUCCESS = _driver("SUCCESS")
INVALID_VALUE = _driver("ERROR_INVALID_VALUE")
OUT_OF_MEMORY = _driver("ERROR_OUT_OF_MEMORY")
NOT_INITIALIZED = _driver("ERROR_NOT_INITIALIZED")
NO_DEVICE = _driver("ERROR_NO_DEVICE")
INVALID_DEVICE = _driver("ERROR_INVALID_DEVICE")
INVALID_IMAGE = _driver("ERROR_INVALID_IMAGE")
INVALID_CONTEXT = _driver("ERROR_INVALID_CONTEXT")
NO_BINARY_FOR_GPU = _driver("ERROR_NO_BINARY_FOR_GPU")
INVALID_PTX = _driver("ERROR_INVALID_PTX")
UNSUPPORTED_PTX_VERSION = _driver("ERROR_UNSUPPORTED_PTX_VERSION")
FILE_NOT_FOUND = _driver("ERROR_FILE_NOT_FOUND")
INVALID_HANDLE = _driver("ERROR_INVALID_HANDLE")
NOT_FOUND = _driver("ERROR_NOT_FOUND")
OPERATING_SYSTEM = _driver("ERROR_OPERATING_SYSTEM")
ILLEGAL_ADDRESS = _driver("ERROR_ILLEGAL_ADDRESS")
NOT_READY = _driver("ERROR_NOT_READY")
NOT_SUPPORTED = _driver("ERROR_NOT_SUPPORTED")
UNKNOWN = _driver("ERROR_UNKNOWN")
