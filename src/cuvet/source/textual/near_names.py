"""Types and functions that are called nearly as those of CUDA, and that neither CUDA nor the program declares."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from cuvet.catalog.types import declared_types
from cuvet.findings import Finding
from cuvet.rules.source.unknown_entry_point import SourceUnknownEntryPoint
from cuvet.rules.source.unknown_type import SourceUnknownType
from cuvet.source.languages.cpp_text import is_declared_at
from cuvet.source.result import NearNames, Options, Outline, UnknownName
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source
from cuvet.source.textual.names import guarded, is_call
from cuvet.source.textual.spellings import meant, nearest_type, removed
from cuvet.source.textual.written import positions

_INCLUDE = re.compile(rb"#[ \t]*include(?:_next)?[ \t]*[<\"]?([^>\"\n]*)")
_HEADERS = frozenset({".h", ".hpp", ".hxx", ".hh", ".cuh", ".inl", ".inc"})
_STANDARD = frozenset(
    "algorithm any array atomic barrier bit bitset cassert ccomplex cctype cerrno cfenv cfloat charconv chrono cinttypes ciso646 climits "
    "clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdalign cstdarg cstdbool cstddef "
    "cstdint cstdio cstdlib cstring ctgmath ctime cuchar cwchar cwctype deque exception execution expected filesystem format "
    "forward_list fstream functional future generator initializer_list iomanip ios iosfwd iostream istream iterator latch limits list "
    "locale map mdspan memory memory_resource mutex new numbers numeric optional ostream print queue random ranges ratio regex "
    "scoped_allocator semaphore set shared_mutex source_location span spanstream sstream stack stacktrace stdexcept stdfloat stop_token "
    "streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map "
    "unordered_set utility valarray variant vector version assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h "
    "locale.h math.h setjmp.h signal.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h "
    "tgmath.h threads.h time.h uchar.h wchar.h wctype.h fcntl.h getopt.h malloc.h memory.h omp.h pthread.h sched.h strings.h sys/mman.h "
    "sys/stat.h sys/time.h sys/types.h unistd.h".split()
)
"""Headers of C, of C++ and of POSIX."""
_TYPE_OF = frozenset(
    "declaration field_declaration function_definition optional_parameter_declaration parameter_declaration type_definition "
    "type_descriptor".split()
)
_NO_CODE = frozenset({"comment", "raw_string_content", "string_content", "string_literal"})


def near_names(root: Node, source: Source, options: Options) -> NearNames:
    """Of a file in C or C++."""
    called, others = source.cuda_words
    unknown: list[UnknownName] = []
    own: list[str] = []
    for name in sorted((called | others) - declared_types().types):
        kind = nearest_type(name) if name in others else ""
        function = "" if kind or removed(name, options.cuda) else meant(name)
        if not (kind or function):
            continue
        uses = _calls(name, root, source) if function else _uses(name, root, source)
        if uses is None:
            own.append(name)
        elif uses:
            at = frame(source, uses[0], uses[0] + len(name), "")
            unknown.append(UnknownName(name=name, meant=kind or function, function=bool(function), frame=at))
    header = source.path.suffix in _HEADERS
    included = list(_included(source)) if header or unknown else []
    return NearNames(
        unknown=tuple(unknown) if not header or any(map(_is_of_cuda, included)) else (),
        own=tuple(own),
        includes=tuple(each for each in included if not (_is_of_cuda(each) or each in _STANDARD)),
    )


def _uses(name: str, root: Node, source: Source) -> list[int] | None:
    """Offsets at which the name is the type of something, in all releases; None if the file may declare it."""
    found: list[int] = []
    for offset in positions(source.text, name.encode()):
        node = root.descendant_for_byte_range(offset, offset + len(name))
        if node is None or node.type in _NO_CODE:
            continue
        around = node.parent
        if (
            node.type != "type_identifier"
            or around is None
            or around.type not in _TYPE_OF
            or around.child_by_field_name("type") != node
            or around.has_error
        ):
            return None
        if not guarded(root, offset, source):
            found.append(offset)
    return found


def _calls(name: str, root: Node, source: Source) -> list[int] | None:
    """Offsets at which the function is called, in all releases; None if the name stands for anything else somewhere."""
    found: list[int] = []
    for offset in positions(source.code, name.encode()):
        if not is_call(root, offset, source) or is_declared_at(offset, source.code):
            return None
        if not guarded(root, offset, source):
            found.append(offset)
    return found


def _included(source: Source) -> Iterator[str]:
    for match in _INCLUDE.finditer(source.text):
        if source.code[match.start() : match.start() + 1] != b"#":
            continue  # a comment
        yield match[1].decode("utf-8", "replace").strip()


def _is_of_cuda(header: str) -> bool:
    """Whether the types that it declares are known."""
    folder, _, _ = header.partition("/")
    return header in declared_types().headers or (folder != header and folder in declared_types().folders)


def findings_of(outlines: Sequence[Outline]) -> Iterator[Finding]:
    """Names that no file declares, in files of which all that they include is in sight."""
    if not any(outline.near.unknown for outline in outlines):
        return
    own = {name for outline in outlines for name in outline.near.own}
    files = _Files(outlines)
    for outline in outlines:
        if any(each.name not in own for each in outline.near.unknown) and files.sees_all(outline):
            yield from (_finding(each) for each in outline.near.unknown if each.name not in own)


class _Files:
    """The files of a run, by what an #include can call them."""

    def __init__(self, outlines: Sequence[Outline]) -> None:
        self._by_path = {posixpath.normpath(outline.file): outline for outline in outlines}
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in self._by_path:
            self._by_name[posixpath.basename(path)].append(path)

    def sees_all(self, outline: Outline) -> bool:
        """Whether everything that the file includes, and what that includes again, is CUDA's, a standard's, or a file of the run."""
        seen = {outline.file}
        waiting = [outline]
        while waiting:
            file = waiting.pop()
            for name in file.near.includes:
                found = self._included(name, file.file)
                if not found:
                    return False
                waiting += (each for each in found if each.file not in seen)
                seen.update(each.file for each in found)
        return True

    def _included(self, name: str, file: str) -> list[Outline]:
        """The file beside the one that includes it, or else all that end in this."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), name))
        if path in self._by_path:
            return [self._by_path[path]]
        ending = "/" + posixpath.normpath(name).lstrip("./")
        return [
            self._by_path[each] for each in self._by_name[posixpath.basename(ending)] if f"/{each}".endswith(ending)
        ]


def _finding(it: UnknownName) -> Finding:
    rule, what = (SourceUnknownEntryPoint, "function") if it.function else (SourceUnknownType, "type")
    return finding(rule, f"CUDA has no such {what}; there is {it.meant}", site(it.name, it.frame))
