"""Whether a function that is not in sight takes over what it is given, as far as its name tells."""

from __future__ import annotations

import re
from functools import lru_cache

HEAP = frozenset({"free", "std::free", "delete", "_aligned_free"})
"""Functions that free memory of the host's heap."""
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ENDS = frozenset(
    "free destroy release delete del dealloc deallocate clean cleanup dispose recycle close unregister reset clear finalize "
    "shutdown terminate teardown deinit uninit drop remove safe".split()
)
_KEEPS = frozenset(
    "push emplace insert append add move swap unique shared make wrap own owner adopt attach store set save register put enqueue bind "
    "manage guard keep assign init initialize create ctor construct exchange give take transfer track cache hold defer later blob "
    "tie tuple pool alloc allocate realloc reallocate resize grow ensure reserve".split()
)
_ALWAYS_BORROWS = re.compile(
    r"^(?:cublas|cudnn|cufft|curand|cusparse|cusolver|nccl|MPI_|nvtx|nvjpeg|npp[isc]?|nvshmem|cutensor)(?!\w*(?:Create|Init))|"
    r"^(?:f|s|sn|v)?printf$|^std::(?:fill|copy|cout)|^thrust::|^cub::|^(?:mem(?:cpy|set|cmp|move)|assert)$|^(?:checkCuda|gpuErrchk|CUDA_CHECK)"
)
_ARITHMETIC = re.compile(
    r"^(?:const\s+)?(?:static\s+)?(?:unsigned\s*|signed\s*)?(?:int|long|short|char|bool|float|double|size_t|u?int\d+_t|void|auto_|\w*[Ss]tatus\w*|"
    r"\w*[Ee]rror\w*|\w*[Rr]esult\w*|CUresult|half|__half|clock_t|time_t)(?:\s+\w+)*$"
)


@lru_cache(maxsize=4096)
def ends(name: str) -> bool:
    """Whether a function of that name sounds as if it ended what it is given."""
    return not _ENDS.isdisjoint(_words(name))


@lru_cache(maxsize=4096)
def takes_over(name: str) -> bool:
    """Whether it may end or keep what it is given. A function that only computes with it does not."""
    if not name:
        return True
    if _ALWAYS_BORROWS.search(name):
        return False
    return not (_ENDS | _KEEPS).isdisjoint(_words(name))


def holds_no_handle(kind: str) -> bool:
    """Whether a variable of the type is a number or a status, so that no handle is kept in it."""
    return bool(_ARITHMETIC.match(kind.strip()))


def _words(name: str) -> set[str]:
    return {part.lower() for part in _PARTS.findall(name.split("::")[-1])}
