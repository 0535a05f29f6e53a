"""Where the VALID and INVALID programs of rules run: ``python -m cuvet.rules.programs [--no-setup] FILE``.

A program is Python over the CUDA driver API, with these names in scope:

* ``cu``: a ``Driver``. ``cu.cuStreamCreate(0)`` takes the parameters that the caller fills in; what the driver writes
  is allocated, and returned (one value, or a tuple). No CUDA error raises: ``cu.status`` is the last status.
  ``cu.cublas.cublasCreate()`` is likewise a call of a library.
* ``device``, ``context``: device 0 and its primary context, which is current (not with ``--no-setup``).

The same programs run on a real driver and on the emulated device.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from cuvet.catalog import Catalog, Parameter, driver, libraries
from cuvet.sonames import DRIVER

T = TypeVar("T")

PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry trivial(.param .u64 memory)
{
    ret;
}
\0"""


SETUP = """
cu.cuInit(0)
device = cu.cuDeviceGet(0)
context = cu.cuDevicePrimaryCtxRetain(device)
cu.cuCtxSetCurrent(context)
"""

_WORDS: dict[tuple[int | None, bool], type[ctypes._SimpleCData[int]]] = {
    (1, False): ctypes.c_uint8,
    (1, True): ctypes.c_int8,
    (2, False): ctypes.c_uint16,
    (2, True): ctypes.c_int16,
    (4, False): ctypes.c_uint32,
    (4, True): ctypes.c_int32,
    (8, False): ctypes.c_uint64,
    (8, True): ctypes.c_int64,
}


class Driver:
    """The entry points of ``libcuda.so.1`` as methods, described by the catalog."""

    status: int = 0
    """What the last call returned; of any thread."""

    ptx: bytes = PTX
    """An image with one kernel, ``trivial``, that takes one pointer and does nothing."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(DRIVER)
        self._kept: list[object] = []

    def __getattr__(self, name: str) -> Any:
        if name in libraries():
            found = self.__dict__[name] = Library(self, name)
            return found
        return self.caller(self._library, driver(), name)

    def caller(self, library: ctypes.CDLL, catalog: Catalog, name: str) -> Callable[..., Any]:
        """What calls the entry point of that name. AttributeError if there is none."""
        if name not in catalog:
            raise AttributeError(name)
        symbol = catalog[name].symbol
        signature = catalog.by_symbol[symbol].signature(symbol)
        if signature is None:
            raise AttributeError(name)
        function = library[symbol]

        def call(*given: object, **replaced: object) -> Any:
            values = iter(given)
            arguments: list[Any] = []
            outputs: list[tuple[Parameter, ctypes.c_uint64]] = []
            for parameter in signature.parameters:
                if parameter.name in replaced:
                    arguments.append(_argument(parameter, replaced[parameter.name]))
                elif parameter.out:
                    output = ctypes.c_uint64()
                    outputs.append((parameter, output))
                    arguments.append(ctypes.byref(output))
                else:
                    arguments.append(_argument(parameter, next(values)))
            if list(values):
                raise TypeError(f"{name}: too many arguments")
            self.status = function(*arguments)
            results = tuple(_result(parameter, output) for parameter, output in outputs)
            return results[0] if len(results) == 1 else results or self.status

        return call

    def module(self) -> int:
        """A module (CUmodule) of ``ptx``, loaded in the current context."""
        return int(self.cuModuleLoadData(self.ptx))

    def kernel(self) -> int:
        """The function (CUfunction) ``trivial`` of a module loaded in the current context."""
        return int(self.cuModuleGetFunction(self.module(), "trivial"))

    def library(self) -> int:
        """A library (CUlibrary) of ``ptx``."""
        return int(self.cuLibraryLoadData(self.ptx, 0, 0, 0, 0, 0, 0))

    def pool(self) -> int:
        """A memory pool (CUmemoryPool) of device 0."""
        pinned, on_device = 1, 1
        return int(self.cuMemPoolCreate(self.struct("CUmemPoolProps", allocType=pinned, location__type=on_device)))

    def green_context(self) -> int:
        """A green context (CUgreenCtx) with some multiprocessors of device 0."""
        multiprocessors, of_default_stream, size = 1, 1, driver().struct("CUdevResource").bytes
        all_of_them, some = self.host(size), self.host(size)
        self.cuDeviceGetDevResource(0, all_of_them, multiprocessors)
        groups = ctypes.c_uint(1)
        self.cuDevSmResourceSplitByCount(some, ctypes.addressof(groups), all_of_them, 0, 0, 8)
        description = self.cuDevResourceGenerateDesc(some, 1)
        return int(self.cuGreenCtxCreate(description, 0, of_default_stream))

    def array(self) -> int:
        """An array (CUarray) of 64 × 64 floats that surfaces can be made of."""
        return int(self.cuArray3DCreate(self._layout()))

    def mipmapped_array(self) -> int:
        """A mipmapped array (CUmipmappedArray) of 64 × 64 floats with two levels."""
        return int(self.cuMipmappedArrayCreate(self._layout(), 2))

    def texture(self, array: int) -> int:
        """A texture object (CUtexObject) that reads the array."""
        resource = self.struct("CUDA_RESOURCE_DESC", res__array__hArray=array)
        return int(self.cuTexObjectCreate(resource, self.struct("CUDA_TEXTURE_DESC"), 0))

    def surface(self, array: int) -> int:
        """A surface object (CUsurfObject) that writes the array."""
        return int(self.cuSurfObjectCreate(self.struct("CUDA_RESOURCE_DESC", res__array__hArray=array)))

    def launch(self, function: int, stream: int = 0, *arguments: int) -> int:
        """Launch one thread with 8-byte arguments. Returns the status."""
        values = (ctypes.c_uint64 * max(1, len(arguments)))(*arguments or (0,))
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(values) + 8 * i for i in range(len(values))))
        return int(self.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, ctypes.addressof(pointers), 0))

    def captured_nodes(self, stream: int) -> list[int]:
        """The nodes (CUgraphNode) that the next captured work of the stream depends on."""
        array, _, count = self.cuStreamGetCaptureInfo(stream)[-3:]
        return list((ctypes.c_uint64 * count).from_address(array))

    def host(self, size: int) -> int:
        """Address of ``size`` bytes of ordinary host memory, zeroed, kept until the program ends."""
        buffer = ctypes.create_string_buffer(size)
        self._kept.append(buffer)
        return ctypes.addressof(buffer)

    def map(self, size: int, access: int = 3, flags: int = 0x22, file: int = -1) -> int:
        """Address of ``size`` bytes that mmap maps: anonymous, private memory that can be read and written, unless it is said otherwise."""
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        return int(libc.mmap(None, ctypes.c_size_t(size), access, flags, file, 0))

    def unmap(self, address: int, size: int) -> None:
        """munmap of memory of ``map``, or of a part of it."""
        ctypes.CDLL(None).munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))

    def struct(self, name: str, **fields: int | bytes) -> bytes:
        """Bytes of a struct of the catalog. A member of a member is written ``a__b`` for ``a.b``."""
        content = bytearray(driver().struct(name).bytes)
        for field, value in fields.items():
            offset, size, _ = driver().field(name, field.replace("__", "."))
            data = value if isinstance(value, bytes) else (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            content[offset : offset + len(data)] = data
        return bytes(content)

    def _layout(self) -> bytes:
        floats, surface = 0x20, 2
        return self.struct("CUDA_ARRAY3D_DESCRIPTOR", Width=64, Height=64, Format=floats, NumChannels=1, Flags=surface)

    def in_thread(self, function: Callable[[], T]) -> T:
        """Run ``function`` in a new thread and return what it returns."""
        results: list[T] = []
        thread = threading.Thread(target=lambda: results.append(function()))
        thread.start()
        thread.join()
        return results[0]

    def in_threads(self, *functions: Callable[[], object], times: int = 1) -> None:
        """Run the functions ``times`` times, each in a new thread. They begin together each time."""
        barrier = threading.Barrier(len(functions), timeout=60)

        def run(function: Callable[[], object]) -> None:
            for _ in range(times):
                barrier.wait()
                function()

        threads = [threading.Thread(target=run, args=(function,)) for function in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def in_child(self, function: Callable[[], object]) -> int:
        """Run ``function`` in a forked child and return the child's wait status."""
        child = os.fork()
        if child == 0:
            function()
            os._exit(0)
        return os.waitpid(child, 0)[1]


class Library:
    """The entry points of a library above the driver as methods, called with the ``status`` of ``driver``."""

    def __init__(self, driver: Driver, api: str) -> None:
        self._driver = driver
        self._catalog = libraries()[api]
        self._library = opened(self._catalog.sonames)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self._driver.caller(self._library, self._catalog, name)


def opened(sonames: tuple[str, ...]) -> ctypes.CDLL:
    """The newest of these libraries that the loader finds, or that lies in a package of this Python. SystemExit if there is none."""
    packaged = [path for folder in sys.path for path in Path(folder).glob("nvidia/*/lib/*.so.*")]
    for soname in reversed(sonames):
        for path in (soname, *(str(path) for path in packaged if path.name == soname)):
            try:
                return ctypes.CDLL(path)
            except OSError:
                continue
    raise SystemExit(f"none of {', '.join(sonames)} is installed")


def _argument(parameter: Parameter, value: Any) -> Any:
    """The ctypes value for a parameter given as a number, bytes, a string, a list of numbers or None."""
    if parameter.abi == "float":
        return ctypes.c_float(value)
    if parameter.abi == "double":
        return ctypes.c_double(value)
    if parameter.abi == "struct":
        return _by_value(value)
    if isinstance(value, str):
        return ctypes.create_string_buffer(value.encode())
    if isinstance(value, bytes):
        return ctypes.create_string_buffer(value, len(value))
    if isinstance(value, list | tuple):
        element = _WORDS[parameter.pointee_bytes or 8, False]
        return (element * max(1, len(value)))(*value)
    return _WORDS[parameter.bytes, parameter.signed](value or 0)


def _by_value(content: bytes) -> ctypes.Structure:
    class ByValue(ctypes.Structure):
        _fields_ = [("content", ctypes.c_ubyte * len(content))]

    return ByValue.from_buffer_copy(content)


def _result(parameter: Parameter, output: ctypes.c_uint64) -> int | float:
    data = bytes(output)
    if parameter.pointee in ("float", "double"):
        return float(struct.unpack_from("<f" if parameter.pointee == "float" else "<d", data)[0])
    return int.from_bytes(data[: parameter.pointee_bytes or 8], "little")


def run_program(text: str, file: str, setup: bool = True, devices: int = 1) -> None:
    """Run a program's text in this process. ``file`` names it in tracebacks and stacks.

    SystemExit if the machine has fewer GPUs than ``devices``.
    """
    cu = Driver()
    scope: dict[str, object] = {"cu": cu, "__name__": "__main__", "__file__": file}
    if setup:
        exec(SETUP, scope)
    if devices > 1 and cu.cuDeviceGetCount() < devices:
        raise SystemExit(f"{file} needs {devices} GPUs")
    exec(compile(text, file, "exec"), scope)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m cuvet.rules.programs", description="Run the program of a rule.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--no-setup", dest="setup", action="store_false", help="make no context current first")
    parser.add_argument("--devices", type=int, default=1, help="GPUs that the program needs")
    options = parser.parse_args()
    run_program(options.file.read_text(), str(options.file), options.setup, options.devices)


if __name__ == "__main__":
    main()
