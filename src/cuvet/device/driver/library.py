"""Modules and libraries: images that are loaded, and what is found in them by name."""

from functools import partial

from cuvet.catalog import Kind, Verb
from cuvet.catalog import results as status
from cuvet.device import facts
from cuvet.device.driver.function import Code, Kernel
from cuvet.device.invocation import (
    BadAddress,
    Dies,
    Invocation,
    Refused,
    gives,
    path_of,
    read,
    read_string,
    require,
    write_word,
)
from cuvet.device.protocol import Steps
from cuvet.image import cubin, elf, fatbin, ptx
from cuvet.image.cubin import DeviceCode
from cuvet.image.entries import Entry
from cuvet.image.errors import ImageError
from cuvet.kernels import Program

_MOST_TEXT = 64 << 20
_MOST_BYTES = 4 << 30


# Loading. Statuses as measured: module_garbage, module_load_missing_file.


def _fetch(address: int) -> Steps[bytes]:
    """The whole image at an address in the program, as long as it says it is."""
    head = yield from _head(address, elf_bytes := 64)
    if head.startswith(elf.MAGIC) and len(head) == elf_bytes:
        return (yield from read(address, min(elf.size_of(head), _MOST_BYTES)))
    magic = int.from_bytes(head[:4], "little")
    if magic == fatbin.WRAPPER_MAGIC and len(head) >= fatbin.WRAPPER_BYTES:
        return (yield from _fetch(int.from_bytes(head[8:16], "little")))
    if magic == fatbin.MAGIC:
        return (yield from read(address, min(fatbin.container_bytes(head), _MOST_BYTES)))
    try:
        return (yield from read_string(address, _MOST_TEXT))
    except BadAddress:
        raise Dies(status.INVALID_PTX) from None


def _head(address: int, size: int) -> Steps[bytes]:
    """Up to ``size`` bytes: a short image may end just before memory that is not there."""
    while size > 8:
        try:
            return (yield from read(address, size))
        except BadAddress:
            size //= 2
    return (yield from read_string(address, size))


def _decode(data: bytes) -> tuple[DeviceCode, Program | None]:
    """The code for this device, and its PTX if that is there. Refused with the status that the driver returns for such bytes."""
    try:
        if data.startswith(elf.MAGIC):
            return _runnable(cubin.parse(data)), None
        if data[:4] == fatbin.MAGIC.to_bytes(4, "little"):
            return _best(data)
    except ImageError as error:
        raise Refused(status.INVALID_IMAGE) from error
    return _compile(_text(data))


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def _runnable(code: DeviceCode) -> DeviceCode:
    major, minor = facts.COMPUTE_CAPABILITY
    if code.arch // 10 != major or code.arch % 10 > minor:
        raise Refused(status.NO_BINARY_FOR_GPU)
    return code


def _compile(text: str) -> tuple[DeviceCode, Program]:
    try:
        head = ptx.header(text)
    except ImageError as error:
        raise Refused(status.INVALID_IMAGE) from error
    if head.version > facts.HIGHEST_PTX:
        raise Refused(status.UNSUPPORTED_PTX_VERSION)
    if head.arch not in ptx.KNOWN_TARGETS or head.arch > facts.SM:
        raise Refused(status.INVALID_PTX)
    try:
        return ptx.parse(text), Program(lambda: text)
    except ImageError as error:
        raise Refused(status.INVALID_PTX) from error


def _best(data: bytes) -> tuple[DeviceCode, Program | None]:
    """Of a fatbin: the cubin for this device, with the PTX for the same one, else the newest PTX that it can compile."""
    usable = [entry for entry in fatbin.entries(data) if entry.sm <= facts.SM]
    texts = [entry for entry in usable if entry.kind == "ptx"]
    cubins = [entry for entry in usable if entry.kind == "cubin" and entry.sm // 10 == facts.SM // 10]
    if cubins:
        best = max(cubins, key=lambda entry: entry.sm)
        return _runnable(cubin.parse(best.data())), _source([entry for entry in texts if entry.arch == best.arch])
    if not texts:
        raise Refused(status.NO_BINARY_FOR_GPU)
    return _compile(_text(max(texts, key=lambda entry: entry.sm).data()))


def _source(texts: list[Entry]) -> Program | None:
    """What a cubin was assembled from: the one PTX text for its architecture."""
    return Program(lambda: _text(_intact(texts[0]))) if len(texts) == 1 else None


def _intact(entry: Entry) -> bytes:
    """Nothing if it cannot be decompressed: the cubin is used all the same."""
    try:
        return entry.data()
    except ImageError:
        return b""


def _load(call: Invocation, kind: Kind, data: bytes) -> None:
    code, program = _decode(data)
    role = next(role for role in call.entry_point.roles if role.verb is Verb.CREATES and role.kind is kind)
    call.process.code[call.issue(role.parameter, kind)] = Code(code, program)


def _from_memory(call: Invocation, kind: Kind, image: str) -> Steps[None]:
    require(call[image])
    try:
        data = yield from _fetch(call[image])
    except (BadAddress, ImageError):
        raise Refused(status.INVALID_IMAGE) from None
    _load(call, kind, data)


def _from_file(call: Invocation, kind: Kind, name: str) -> None:
    try:
        data = path_of(call, name).read_bytes()
    except OSError:
        raise Refused(status.FILE_NOT_FOUND) from None
    _load(call, kind, data)


cuModuleLoadData = cuModuleLoadDataEx = partial(_from_memory, kind=Kind.MODULE, image="image")
cuModuleLoadFatBinary = partial(_from_memory, kind=Kind.MODULE, image="fatCubin")
cuLibraryLoadData = partial(_from_memory, kind=Kind.CULIBRARY, image="code")


cuModuleLoad = partial(_from_file, kind=Kind.MODULE, name="fname")
cuLibraryLoadFromFile = partial(_from_file, kind=Kind.CULIBRARY, name="fileName")


def _unload(call: Invocation, handle: str) -> None:
    require(call.process.code.pop(call[handle], None), status.INVALID_HANDLE)


cuModuleUnload = partial(_unload, handle="hmod")
cuLibraryUnload = partial(_unload, handle="library")


# What is in them.


def _kernel(call: Invocation, owner: str, kind: Kind, output: str) -> None:
    name = call.text("name").decode("utf-8", "replace")
    code = call.known(call.process.code, owner)
    require(name in code.contents.kernels, status.NOT_FOUND)
    call.give(output, _handle(call, code, call[owner], kind, name))


cuModuleGetFunction = partial(_kernel, owner="hmod", kind=Kind.FUNCTION, output="hfunc")
cuLibraryGetKernel = partial(_kernel, owner="library", kind=Kind.KERNEL, output="pKernel")


def _handle(call: Invocation, code: Code, owner: int, kind: Kind, name: str) -> int:
    handle = code.handles.get(name)
    if handle is None:
        handle = code.handles[name] = call.process.handles.issue(kind)
        kernel = Kernel(code.contents.kernels[name], owner, code.contents, program=code.program)
        call.process.kernels[handle] = kernel
    return handle


def _global(call: Invocation, owner: str, host: bool = False) -> Steps[None]:
    code = call.known(call.process.code, owner)
    name = call.text("name").decode("utf-8", "replace")
    size = code.contents.variables.get(name)
    if size is None:
        raise Refused(status.NOT_FOUND)
    if name not in code.addresses:
        arena = call.process.host_memory if host else call.process.device_memory
        code.addresses[name] = yield from arena.allocate(max(size, 1))
    call.give("dptr", code.addresses[name])
    call.give("bytes", size)


cuModuleGetGlobal = partial(_global, owner="hmod")
cuLibraryGetGlobal = partial(_global, owner="library")
cuLibraryGetManaged = partial(_global, owner="library", host=True)


def cuLibraryGetModule(call: Invocation) -> None:
    code = call.known(call.process.code, "library")
    if not code.module:
        code.module = call.process.handles.issue(Kind.MODULE)
        call.process.code[code.module] = Code(code.contents, code.program)
    call.give("pMod", code.module)


cuModuleGetFunctionCount = gives(count=lambda call: len(call.known(call.process.code, "mod").contents.kernels))
cuLibraryGetKernelCount = gives(count=lambda call: len(call.known(call.process.code, "lib").contents.kernels))


def _enumerate(call: Invocation, owner: str, kind: Kind, array: str, count: str) -> Steps[None]:
    code = call.known(call.process.code, owner)
    for position, name in enumerate(list(code.contents.kernels)[: call[count]]):
        yield from write_word(call[array] + 8 * position, _handle(call, code, call[owner], kind, name))


cuModuleEnumerateFunctions = partial(
    _enumerate, owner="mod", kind=Kind.FUNCTION, array="functions", count="numFunctions"
)
cuLibraryEnumerateKernels = partial(_enumerate, owner="lib", kind=Kind.KERNEL, array="kernels", count="numKernels")
