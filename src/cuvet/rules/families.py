"""The mistakes that can be made in the life of an object of any kind: what each has in common for all kinds (``lives``)."""

from typing import NamedTuple

from cuvet.rules.lifecycle import DestroyTwice, LifeRule, NeverCreated, NullHandle, ParentGone, UseAfterDestroy


class Family(NamedTuple):
    """A mistake as all kinds of objects know it: texts with the words of a row in braces (``_words``).

    A program is left out if a row has nothing for one of its words. A line that is nothing but such a word is left out alone.
    """

    base: type[LifeRule]
    name: str
    texts: str
    valid: str
    invalid: str


NULL_HANDLE = Family(
    base=NullHandle,
    name="{name}-null-handle",
    texts="""
    summary: a call gets {null} instead of {a}
    help: check that the call that returns the {noun} succeeded, and make this call only then
    checks: A call that needs {a} gets {null}{fails}.
    instead: Check the status of the call that creates the {noun}. Initialise handles to {null}, and test them before the call.
    limits: Reported whether or not the program checks the status.
    """,
    valid="""
## with a handle
{x} = {make}
{use}
{end}

## skipped when there is none
{x} = 0
if {x}:
    {end_or_use}
""",
    invalid="""
## used
{use_null}  # error: [{rule}]

## {ended}
{end_null}  # error: [{rule}]
""",
)

NEVER_CREATED = Family(
    base=NeverCreated,
    name="{name}-never-created",
    texts="""
    summary: a call uses {a} that was never created
    help: initialise the variable, and check the status of the call that creates the {noun}
    checks: A call that needs {a} gets a number that no call returned as one, and fails or crashes.
    instead: Initialise the variable to NULL, and check the status of the call that creates the {noun}. Pass handles with their
      own types, not as integers.
    limits: Silent when the call succeeds: the handle may have been created in a way that cannot be seen (another process, graphics
      interoperability, NVIDIA's own libraries).
    """,
    valid="""
## created first
{x} = {make}
{use}
{end}

## created by another thread
{x} = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), {make})[1])
{use}
{end}
""",
    invalid="""
## a number from nowhere
{use_number}  # error: [{rule}]

## an object of another kind
other = {other}
{use_other}  # error: [{rule}]
""",
)

MISTAKEN = NEVER_CREATED._replace(
    texts=NEVER_CREATED.texts
    + """
    summary: a call gets the handle of something else instead of {a}
    checks: A call that needs {a} gets the handle of something else, and fails or crashes.
    limits: A number that is no handle at all is not reported: {noun}s may be created in ways that cannot be seen.
    """,
    invalid="""
## an object of another kind
other = {other}
{use_other}  # error: [{rule}]
""",
)
"""As ``NEVER_CREATED``, for kinds of which not all objects are seen made (``Model.sees_all``)."""

DESTROYED_TWICE = Family(
    base=DestroyTwice,
    name="{name}-{verb}-twice",
    texts="""
    summary: {a} is {ended} twice
    help: let one owner {verb} the {noun}, and clear its handle at that moment
    checks: `{ends}` is called with {a} that was {ended} before.
    instead: Give the {noun} one owner, which {verb}s it once and clears the handle at the same place.
    limits: The driver issues handle values again. If a new object has the old value, a second {ending} looks like the first of the
      new object.
    """,
    valid="""
## {ended} once
{x} = {make}
{end}

## handle issued again
note: the new one often has the old handle value
{x} = {make}
{end}
{x} = {make}
{end}

## C++: {ended} on each way out [{cpp}]
bool {cpp_run} {
    {cpp_type} {x};
    {cpp_make};
    if (!work({x})) {
        {cpp_end};
        return false;
    }
    {cpp_end};
    return true;
}
""",
    invalid="""
## {ended} twice
{x} = {make}
{end}
{end}  # error: [{rule}]

## {ended} by two threads
{x} = {make}
cu.in_thread(lambda: {end_elsewhere})
{end}  # error: [{rule}]

## C++: in a branch and at the end [{cpp}]
bool {cpp_run} {
    {cpp_type} {x};
    {cpp_make};
    bool done = work({x});
    if (!done)
        {cpp_end};
    {cpp_end};  // error: [{rule}]
    return done;
}

## Python: in the block and in finally [python {py_module}]
def {py_run}:
    {py_make}
    try:
        work({x})
        {py_end}
    finally:
        {py_end}  # error: [{rule}]

## C#: in the block and in finally [c# method]
void {cs_run} {
    {cs_type} {cs_x} = new {cs_type}();
    Check({cs_make});
    try {
        Work({cs_x});
        Check({cs_end});
    } finally {
        Check({cs_end});  // error: [{rule}]
    }
}
""",
)

USED_AFTER_DESTROY = Family(
    base=UseAfterDestroy,
    name="{name}-use-after-{verb}",
    texts="""
    summary: {a} is used after it was {ended}
    help: {verb} the {noun} after its last use, or clear the variable that still holds it
    checks: A call names {a} that `{ends}` {ended} before.
    instead: {Verb} the {noun} after its last use, and clear every other variable that holds the handle.
    limits: The driver issues handle values again. If a new object has the old value, a call with the old handle looks like a use of
      the new object.
    """,
    valid="""
## {ended} after its last use
{x} = {make}
{use}
{end}

## handle issued again
note: the new one often has the old handle value
{x} = {make}
{end}
{x} = {make}
{use}
{end}

## C++: {ended} after its last use [{cpp}]
void {cpp_run} {
    {cpp_type} {x};
    {cpp_make};
    {cpp_use};
    {cpp_end};
}
""",
    invalid="""
## used after its {ending}
{x} = {make}
{end}
{use}  # error: [{rule}]

## used in another way
{x} = {make}
{end}
{another_use}  # error: [{rule}]

## {ended} by another thread
{x} = {make}
cu.in_thread(lambda: {end_elsewhere})
{use}  # error: [{rule}]

## C++: used after its {ending} [{cpp}]
void {cpp_run} {
    {cpp_type} {x};
    {cpp_make};
    {cpp_end};
    {cpp_use};  // error: [{rule}]
}

## Python: used after its {ending} [python {py_module}]
def {py_run}:
    {py_make}
    work({x})
    {py_end}
    {py_use}  # error: [{rule}]

## C#: used after its {ending} [c# method]
void {cs_run} {
    {cs_type} {cs_x} = new {cs_type}();
    Check({cs_make});
    Work({cs_x});
    Check({cs_end});
    Check({cs_use});  // error: [{rule}]
}
""",
)

USED_AFTER_CONTEXT = Family(
    base=ParentGone,
    name="{name}-use-after-context-destroy",
    texts="""
    summary: {a} is used after its context was destroyed
    help: {verb} the {noun} before its context, and the context last
    checks: A call uses or {verb}s {a} whose context was destroyed by `cuCtxDestroy` (or by the last
      `cuDevicePrimaryCtxRelease`).
    why: Destroying a context destroys its {noun}s. What a later call with one of them does is documented as undefined.
    instead: Destroy the context last, after the last use of its objects. Destructors of objects that hold CUDA handles must run before.
    limits: Objects whose context is not known (created before the first call that was seen) are not judged.
    documented: destroys everything that belongs to the context; using it afterwards is undefined behavior (CUDA Driver API, Context
      Management, cuCtxDestroy)
    """,
    valid="""
## context destroyed last
own = cu.cuCtxCreate(0, 0, device)
{x} = {make}
{use}
{end}
cu.cuCtxDestroy(own)

## object of another context
note: it belongs to the context that is still there
{x} = {make}
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
{use}
{end}

## C++: {ended} before its context [{cpp}]
void {cpp_run_on_device} {
    CUcontext context;
    {cpp_type} {x};
    cuCtxCreate(&context, nullptr, 0, device);
    {cpp_make};
    work({x});
    {cpp_end};
    cuCtxDestroy(context);
}
""",
    invalid="""
## used after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
{x} = {make}
cu.cuCtxDestroy(own)
{use}  # error: [{rule}]

## {ended} after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
{x} = {make}
cu.cuCtxDestroy(own)
{end}  # error: [{rule}]

## context destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
{x} = {make}
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
{use}  # error: [{rule}]

## C++: {ended} after its context [{cpp}]
void {cpp_run_on_device} {
    CUcontext context;
    {cpp_type} {x};
    cuCtxCreate(&context, nullptr, 0, device);
    {cpp_make};
    work({x});
    cuCtxDestroy(context);
    {cpp_end};  // error: [{rule}]
}

## Python: {ended} after its context [python {py_module}]
def {py_run_on_device}:
    error, context = driver.cuCtxCreate(None, 0, device)
    {py_make}
    work({x})
    error, = driver.cuCtxDestroy(context)
    {py_end}  # error: [{rule}]

## C#: {ended} after its context [c# method]
void {cs_run_on_device} {
    CUcontext context = new CUcontext();
    {cs_type} {cs_x} = new {cs_type}();
    Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
    Check({cs_make});
    Work({cs_x});
    Check(ContextManagement.cuCtxDestroy_v2(context));
    Check({cs_end});  // error: [{rule}]
}
""",
)
