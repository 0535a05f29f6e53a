"""What names tell of functions whose bodies are not looked at: whether they end, keep or only use what they are given."""

import re
from collections.abc import Iterable
from functools import lru_cache

from cuvet.catalog import Kind
from cuvet.catalog.apis import PREFIXES

WRONG_FUNCTION = {
    Kind.HOST_MEMORY: ("pinned host memory", "cudaFreeHost"),
    Kind.MEMORY: ("device memory", "cudaFree"),
}
"""What is said of memory that is freed by a function for the other kind, and the function that it is for."""
HEAP = frozenset({"free", "std::free", "delete", "_aligned_free"})
"""Functions that free memory of the host's heap."""
ON_HEAP = frozenset(
    "malloc calloc realloc aligned_alloc memalign valloc _mm_malloc _aligned_malloc std::malloc std::calloc std::realloc".split()
)
"""Functions that allocate memory of the host's heap."""
UNMAPS = frozenset({"munmap", "shmdt", "UnmapViewOfFile", "VirtualFree"})
"""Functions that take pages of the host away."""
FIXTURE = frozenset(
    "SetUp TearDown SetUpTestCase TearDownTestCase SetUpTestSuite TearDownTestSuite setUp tearDown".split()
)
"""Functions of a test's fixture, each called once for an object."""
MAY_MAKE_CURRENT = re.compile(
    rb"(?i)(?:set|use|select|choose|pick|switch|bind|find|init|with|change|enter|activate|restore|swap|exchange|acquire)\w{0,12}(?:dev|gpu|ctx|context)"
    rb"|(?:device|gpu|ctx|context|cuda)_?(?:set_?dev|switch|activate|select|choose|init|setup|start|bind|push|enter|guard|scope)"
    rb"|(?:init|setup|start)\w{0,6}cuda|scoped?_?(?:device|gpu|ctx|context|cuda)|(?:make|set|push)\w{0,12}_?current|ctxcreate|guard|\bactivate|\bselect\b"
)
"""What may make a device or a context current."""
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ENDS = frozenset(
    "free destroy release delete del dealloc deallocate clean cleanup dispose recycle close unregister reset clear finalize "
    "shutdown terminate teardown deinit uninit drop remove safe deleter destructor destroyer unref kill".split()
)
"""Of what is given to the function."""
_ENDS_WITHIN = re.compile(r"free\w*|\w*(?:free|destroy|release|delete)")
"""A word of several, which nothing parts: ``cudafree``, ``freeall``."""
_ENDS_OBJECT = re.compile(
    r"(?i)^__del__$|free|destroy|releas|delet|dealloc|clean|final|clos|shutdown|shut_down|terminat|teardown|tear_down|reset|clear|stop|end|exit|uninit|deinit|dispos|fini"
)
_ONLY_ENDS = re.compile(r"(?i)^__(?:del|exit)__$|free|destroy|close|release|dispose")
_RELEASE = re.compile(rb"(?i)\b\w*(?:free|destroy|release|delete)\w*\s*\(([^;{}]*?)\)")
_HELD = frozenset("ptr pointer data memory mem buffer handle stream event".split())
"""What an object holds, as methods are called that show or set it."""
_TO_OWNERS = frozenset(
    "push_back emplace_back emplace insert push move swap unique_ptr shared_ptr make_shared make_unique".split()
)
_KEEPS = frozenset(
    "push emplace insert append add move swap unique shared make wrap own owner adopt attach store set save register put enqueue bind "
    "manage guard keep assign init initialize setup create ctor construct exchange give take transfer track cache hold defer later blob "
    "tie tuple cast pool alloc allocate realloc reallocate resize grow ensure reserve".split()
)
_NOUNS = frozenset({"cache", "pool"})
"""Of these words, those that are things as often as deeds: ``with_cache`` only uses one."""
_INTO = frozenset({"", "to", "in", "into"})
_CALLS_BACK = frozenset({"invoke", "callback", "callable", "closure", "functor"})
_VIEWS = frozenset({"view", "span", "mdspan"})
_ON_STREAM = frozenset("async allocate deallocate alloc dealloc memcpy memset launch synchronize".split())
_ALWAYS_BORROWS = re.compile(
    rf"^(?:{'|'.join(PREFIXES)}|MPI_|nvtx|nvjpeg|npp[isc]?|nvshmem)(?!\w*(?:Create|Init|[Ff]ree$))|"
    r"^(?:f|s|sn|v)?printf$|^std::(?:fill|copy|cout)|^thrust::|^cub::|^(?:mem(?:cpy|set|cmp|move)|assert)$|^(?:checkCuda|gpuErrchk|CUDA_CHECK)"
)
_ADOPTS = re.compile(r"(?i)adopt|attach|take|own|wrap|from|__init__")
_OWNS = re.compile(r"(?i)own|extern|foreign|user|borrow")
_ARITHMETIC = re.compile(
    r"^(?:const\s+)?(?:static\s+)?(?:unsigned\s*|signed\s*)?(?:int|long|short|char|bool|float|double|size_t|u?int\d+_t|void|auto_|\w*[Ss]tatus\w*|"
    r"\w*[Ee]rror\w*|\w*[Rr]esult\w*|CUresult|half|__half|clock_t|time_t)(?:\s+\w+)*$"
)
_NEVER_RETURN = frozenset(
    """
    exit abort _exit _Exit quick_exit terminate __builtin_unreachable __builtin_trap longjmp siglongjmp rethrow_exception pthread_exit
    MPI_Abort mexErrMsgTxt mexErrMsgIdAndTxt GTEST_SKIP GTEST_SKIP_ GTEST_FAIL FAIL SKIP
    """.split()
)
_LEAVES = re.compile(
    r"(?i)(?!(?:no|try|check|test|expect|assert|require|may|can)_)(?:[a-z0-9]+_)?"
    r"(?:die|fatal|panic|exit|abort|(?:re_?)?throw|raise|fatal_?error)(?:_(?:with|error|exception|msg|message))*"
)
"""A function of that name; with one word before it at most, for ``CHECK_AND_EXIT`` and ``TRY_NO_THROW`` return."""
_DEFERS = re.compile(
    r"(?i)defer|scope_?(?:exit|guard|fail|success)|on_?exit|(?:^|_)(?:finally|guard|post)(?:_|$)|(?:^|_)on_\w*(?:error|fail)"
)
_LEAVING = r"RETURN|FAIL|GOTO|THROW|EXIT|QUIT"
_LEAVES_FUNCTION = re.compile(rf"[A-Z0-9_]*(?:{_LEAVING})[A-Z0-9_]*")
_DOES_MORE = re.compile(rf"[A-Z0-9_]*(?:{_LEAVING}|FREE|CLEAN|RELEASE|DESTROY)[A-Z0-9_]*")


@lru_cache(maxsize=4096)
def runs_later(name: str) -> bool:
    """Whether a macro or function of that name runs what it is given later, or only if something fails."""
    return _DEFERS.search(name) is not None


@lru_cache(maxsize=4096)
def leaves_function(macro: str) -> bool:
    """Whether a macro of that name, which stands alone, sounds as if it left the function."""
    return _LEAVES_FUNCTION.fullmatch(macro) is not None


def does_more(macro: str) -> bool:
    """Whether it sounds so, or as if it ended objects."""
    return _DOES_MORE.fullmatch(macro) is not None


@lru_cache(maxsize=4096)
def never_returns(name: str) -> bool:
    """Whether a function of that name ends the process or throws, or sounds so: what is behind its call is not certain to happen."""
    last = name.rpartition("::")[2]
    return last in _NEVER_RETURN or _LEAVES.fullmatch(last) is not None


@lru_cache(maxsize=4096)
def hands_over(name: str) -> bool:
    """Whether a function of that name sounds as if it ended what it is given, or gave it to an owner."""
    return name in _TO_OWNERS or not _ENDS.isdisjoint(_words(name))


def ends_its_object(method: str) -> bool:
    """Whether a function of a class sounds as if the object, or what it has made, were gone afterwards."""
    return _ENDS_OBJECT.search(method) is not None


def is_fixture(methods: Iterable[str]) -> bool:
    """Whether a class with these functions is a test's fixture."""
    return not FIXTURE.isdisjoint(methods)


def only_ends(name: str) -> bool:
    """Whether a function sounds as if ending things were all that it did, so that nobody can be told that this failed."""
    return _ONLY_ENDS.search(name) is not None


def arguments_of_releases(text: bytes) -> list[bytes]:
    """What is given to anything in the text that sounds like a release."""
    return _RELEASE.findall(text)


@lru_cache(maxsize=4096)
def takes_over(name: str) -> bool:
    """Whether it may end or keep what it is given. A function that only computes with it does not."""
    if not name:
        return True
    if only_borrows(name) or is_view(name):
        return False
    found = _words(name)
    return any(
        word in _ENDS or _ENDS_WITHIN.fullmatch(word) or (word in _KEEPS and (word not in _NOUNS or before in _INTO))
        for before, word in zip(("", *found), found, strict=False)
    )


def only_borrows(name: str) -> bool:
    """Whether a function of that name, which CUDA does not have, is known to keep nothing and to end nothing."""
    return _ALWAYS_BORROWS.search(name) is not None


@lru_cache(maxsize=4096)
def creates(name: str) -> bool:
    """Whether a function of that name sounds as if it created what it is given the address of."""
    return "create" in _words(name)


@lru_cache(maxsize=4096)
def exchanges(name: str) -> bool:
    """Whether a function of that name sounds as if it exchanged what it is given."""
    return "swap" in _words(name)


@lru_cache(maxsize=4096)
def is_view(name: str) -> bool:
    """Whether a class, or the result of a function, of that name only refers to memory of somebody else."""
    found = _words(name.split("<")[0])
    return bool(found) and found[-1] in _VIEWS


@lru_cache(maxsize=4096)
def names_what_it_holds(method: str) -> bool:
    """Whether a method that is given one thing sounds as if it kept it: ``volume.devPtr(p)``."""
    found = _words(method)
    return bool(found) and found[-1] in _HELD


@lru_cache(maxsize=4096)
def works_on_stream(name: str) -> bool:
    """Whether a function of that name sounds as if it did its work on a stream that it is given."""
    return "async" in _words(name)


@lru_cache(maxsize=4096)
def uses_stream(name: str) -> bool:
    """Whether a function of that name is certain to use a stream that it is given beside other things."""
    return not _ON_STREAM.isdisjoint(_words(name))


@lru_cache(maxsize=4096)
def calls_back(name: str) -> bool:
    """Whether a function of that name sounds as if it ran code of somebody else."""
    return not _CALLS_BACK.isdisjoint(_words(name))


def holds_no_handle(kind: str) -> bool:
    """Whether a variable of the type is a number or a status, so that no handle is kept in it."""
    return bool(_ARITHMETIC.match(kind.strip()))


def adopts(name: str) -> bool:
    """Whether a member function of that name sets members to what it takes over; constructors of owners do."""
    return _ADOPTS.search(name) is not None


def says_who_owns(text: str) -> bool:
    """Whether a name in the text sounds as if it told whose an object is."""
    return _OWNS.search(text) is not None


def _words(name: str) -> tuple[str, ...]:
    """The words that a name is made of, in lower case."""
    return tuple(part.lower() for part in _PARTS.findall(name.split("::")[-1]))
