from cuvet.catalog.kinds import FUNCTIONS
from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.rules.ownership import belongs, module_context, role_of, stream_and_context
from cuvet.rules.rule import CallRule, Violations


class FunctionOtherContext(CallRule):
    """
    checks: The launch of a function (`CUfunction`) fails, and its module was loaded in neither the current context nor the stream's.
    why: A module is loaded into the current context, and its functions run only there. Usually a cache is not kept per device.
    instead: Load the module once per context and cache functions per device. Or load a library (`cuLibraryLoadData`).
    limits: Reported only when the launch fails. `cuvet check` knows loops of C++ that make one context after the other current, and launch
      one function in all of them.
    """

    code = "CV616"
    about_devices = True
    same_for_alike = True
    summary = "a function is launched in another context than its module's"
    help = "load the module in each context, or use a library (cuLibraryLoadData), whose kernels run in all of them"
    kinds = FUNCTIONS
    verbs = frozenset({Verb.LAUNCHES})
    evidence = """
    recorded: while another context is current, on a stream of the module's own context: no error
    measured: launch while another context of the same device is current: CUDA_ERROR_INVALID_HANDLE
      (context_function_of_other)
    documented: a module is loaded into the current context (CUDA Driver API, Module Management, cuModuleLoadData)
    """
    VALID = """
## launched on a stream of the module's context
note: the launch runs in the stream's context, whichever is current
stream, kernel = cu.cuStreamCreate(0), cu.kernel()
own = cu.cuCtxCreate(0, 0, device)
cu.launch(kernel, stream, 0)
cu.cuStreamSynchronize(stream)
cu.cuCtxDestroy(own)

## loaded in each context
cu.launch(cu.kernel(), 0, 0)
own = cu.cuCtxCreate(0, 0, device)
cu.launch(cu.kernel(), 0, 0)
cu.cuCtxSynchronize()
cu.cuCtxDestroy(own)

## kernel of a library
note: a library belongs to no context
kernel = cu.cuLibraryGetKernel(cu.library(), "trivial")
cu.launch(kernel, 0, 0)
own = cu.cuCtxCreate(0, 0, device)
cu.launch(kernel, 0, 0)
cu.cuCtxSynchronize()
cu.cuCtxDestroy(own)
"""
    INVALID = """
## launched in another context
function = cu.kernel()
own = cu.cuCtxCreate(0, 0, device)
cu.launch(function, 0, 0)  # error: [function-other-context]

## launched on another device [devices=2]
function = cu.kernel()
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(1)))
cu.launch(function, 0, 0)  # error: [function-other-context]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        role = role_of(call, Verb.LAUNCHES, FUNCTIONS)
        current = model.current_context(call)
        function = None if role is None else model.object_named(call, role)
        if role is None or function is None or not function.alive or current is None or not current.alive:
            return
        owner = module_context(function)
        where = stream_and_context(call, model)
        if owner is None or owner is current or (where is not None and where[1] is owner):
            return
        message = f"{function.name} was loaded in another context"
        because = (belongs(function, owner), f"{current.name} is current")
        argument = call.index(role.parameter)
        yield cls.refused(message, function, owner, current, argument=argument, because=because, outcomes=(400,))
