"""Functions that Numba and CuPy have a stream call, and that call CUDA themselves."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.stream.call_in_host_function import StreamCallInHostFunction
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.bounds import first
from cuvet.source.textual.python_text import Place, call_at, called, finding_at, may_be_meant, value_of

_GIVES = re.compile(rb"\.(?:add_callback|launch_host_func)[ \t]*\(")
_STREAMS = frozenset({"numba.cuda.stream", "cupy.cuda.Stream", "cupy.cuda.stream.Stream"})
_CALLS = frozenset(
    """
    numba.cuda.to_device numba.cuda.device_array numba.cuda.synchronize numba.cuda.device_array_like numba.cuda.pinned_array
    cupy.asnumpy cupy.array cupy.zeros cupy.empty cupy.cuda.Device.synchronize cupy.cuda.alloc cupy.cuda.alloc_pinned_memory
    """.split()
)
_METHODS = frozenset({"copy_to_host", "copy_to_device"})
"""Of arrays of Numba on the device."""
_NESTED = frozenset({"function_definition", "lambda", "class_definition"})


def calls_back(text: bytes) -> bool:
    """Whether a file may have a stream of these libraries call its functions."""
    return (b"numba" in text or b"cupy" in text) and _GIVES.search(text) is not None


def callback_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The first call of CUDA in each function that a stream calls."""
    names = Names(source.text)
    for match in first(_GIVES.finditer(source.text)):
        given = call_at(root, match.end() - 1)
        function = _function(given, names, root) if given is not None else None
        call = next(_calls(function, names), None) if function is not None else None
        if given is not None and call is not None and not may_be_meant(call):
            message = f"a stream calls this function (line {source.line(given.start_byte)}), which calls CUDA here"
            path = (Place(given, "the stream is given the function here"), Place(call, "it calls CUDA here"))
            yield finding_at(StreamCallInHostFunction, call, message, source, path, severity="note")


def _function(given: Node, names: Names, root: Node) -> Node | None:
    """What the stream is to call: a lambda, a function of the file, or a method of the class."""
    owner, _, _ = field_text(given, "function").rpartition(".")
    stream, arguments = value_of(owner, given, root), arguments_of(given)
    if stream is None or stream.type != "call" or called(stream, names) not in _STREAMS or not arguments:
        return None
    if arguments[0].type == "lambda":
        return arguments[0]
    name = text_of(arguments[0])
    scope = enclosing(given, "class_definition") if name.startswith("self.") else root
    defined = rb"(?<!\w)def[ \t]+%s[ \t]*\(" % re.escape(name.removeprefix("self.").encode())
    found = list(re.finditer(defined, scope.text or b"")) if scope is not None else []
    if scope is None or len(found) != 1:
        return None
    at = scope.start_byte + found[0].start()
    return enclosing(root.descendant_for_byte_range(at, at + 3), "function_definition")


def _calls(function: Node, names: Names) -> Iterator[Node]:
    """The calls of CUDA in the function, in order."""
    body = function.child_by_field_name("body")
    waiting = [body] if body is not None else []
    while waiting:
        node = waiting.pop()
        if node.type == "call" and _is_of_cuda(node, names):
            yield node
        waiting += [each for each in reversed(node.named_children) if each.type not in _NESTED]


def _is_of_cuda(call: Node, names: Names) -> bool:
    function = field_text(call, "function")
    if called(call, names) in _CALLS or names.api(function) is not None:
        return True
    return function.rpartition(".")[2] in _METHODS and "." in function
