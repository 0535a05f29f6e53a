from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView, Object
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CRASH, CallRule, Violations


class LinkerDestroyedOnOtherThread(CallRule):
    """
    checks: A thread created a linker (`cuLinkCreate`), another thread destroyed it, and now the first one creates or uses a linker again.
    why:
      The driver keeps something of a linker for the thread that created it, which another thread's `cuLinkDestroy` does not end well. The
      next linker call of the first thread was recorded to die of SIGSEGV more often than not. No document says that linkers are
      bound to threads.
    instead: Destroy a linker on the thread that created it.
    limits: Whether the driver dies depends on what is in its memory. Linkers of `libnvJitLink` are not looked at.
    """

    code = "CV661"
    severity = "warning"
    summary = "a linker was destroyed on another thread than created it, which then goes on linking"
    help = "destroy a linker on the thread that created it"
    entry_points = frozenset({"cuLinkCreate", "cuLinkAddData", "cuLinkAddFile", "cuLinkComplete", "cuLinkDestroy"})
    evidence = """
    recorded, succeeds: 15 of 21 calls of such threads: SIGSEGV, 11 in cuLinkCreate, 3 in cuLinkDestroy, 1 in
      cuLinkComplete, 2 of them of another thread's linker; of more than 1000 other calls 1, and 1 that destroyed a
      linker twice
    """
    VALID = """
## destroyed where it was created
linker = cu.cuLinkCreate(0, 0, 0)
cu.cuLinkDestroy(linker)
cu.cuLinkDestroy(cu.cuLinkCreate(0, 0, 0))

## used on another thread
note: only the end has to be on the first thread
linker = cu.cuLinkCreate(0, 0, 0)
ptx = 1
cu.in_thread(lambda: cu.cuLinkAddData(linker, ptx, cu.ptx, len(cu.ptx), "part", 0, 0, 0))
cu.cuLinkDestroy(linker)
cu.cuLinkDestroy(cu.cuLinkCreate(0, 0, 0))
"""
    INVALID = """
## destroyed on another thread
linker = cu.cuLinkCreate(0, 0, 0)
cu.in_thread(lambda: cu.cuLinkDestroy(linker))
cu.cuLinkCreate(0, 0, 0)  # warning: [linker-destroyed-on-other-thread]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        gone = _destroyed_elsewhere(call, model)
        if gone is None or gone.destroyed_by is None:
            return
        message = f"{gone.name}, which this thread created, was destroyed on thread {gone.destroyed_by.thread}"
        because = (f"it was destroyed by {place(gone.destroyed_by)}",)
        yield cls.broken(message, gone, because=because, outcomes=(CRASH,), undefined=True)


def _destroyed_elsewhere(call: Call, model: ModelView) -> Object | None:
    """A linker that this thread created and another one destroyed."""
    return next(
        (
            linker
            for linker in model.objects(Kind.LINKER, alive=False)
            if linker.created_by is not None
            and linker.destroyed_by is not None
            and linker.created_by.thread == call.thread != linker.destroyed_by.thread
        ),
        None,
    )
