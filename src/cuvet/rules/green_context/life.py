from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, NULL_HANDLE, USED_AFTER_DESTROY
from cuvet.rules.lives import Life, Mistake, Spelled

LIFE = Life(
    kind=Kind.GREEN_CONTEXT,
    name="green-context",
    make="cu.green_context()",
    use="cu.cuCtxFromGreenCtx({})",
    another_use="cu.cuGreenCtxStreamCreate({}, 1, 0)",
    end="cu.cuGreenCtxDestroy({})",
    variable="green",
    cpp=Spelled(
        type="CUgreenCtx",
        given="CUdevResourceDesc part, CUdevice device, CUstream *stream",
        make="cuGreenCtxCreate(&green, part, device, CU_GREEN_CTX_DEFAULT_STREAM)",
        use="cuGreenCtxStreamCreate(stream, green, CU_STREAM_NON_BLOCKING, 0)",
        end="cuGreenCtxDestroy(green)",
    ),
    mistakes=(
        Mistake(USED_AFTER_DESTROY, "CV115", (709,), without=("handle issued again",)),
        Mistake(DESTROYED_TWICE, "CV116", (709,), without=("handle issued again", "destroyed by two threads")),
        Mistake(NULL_HANDLE, "CV117", (201,)),
    ),
)

TEXTS = """
# green-context-use-after-destroy
why: The green context is gone with its streams and with the context that `cuCtxFromGreenCtx` made of it. Calls that
  name it were measured to return CUDA_ERROR_CONTEXT_IS_DESTROYED.
measured: making a stream or a context of it, recording or awaiting an event, asking for its resources and its id:
  CUDA_ERROR_CONTEXT_IS_DESTROYED (green_gone_stream_create, green_gone_from, green_gone_record, green_gone_wait,
  green_gone_resource, green_gone_id)

# green-context-use-after-destroy: right

## another one destroyed
first, second = cu.green_context(), cu.green_context()
cu.cuGreenCtxDestroy(first)
stream = cu.cuGreenCtxStreamCreate(second, 1, 0)
cu.cuStreamDestroy(stream)
cu.cuGreenCtxDestroy(second)

# green-context-destroy-twice
why: The second call was measured to return CUDA_ERROR_CONTEXT_IS_DESTROYED. When the driver has issued the handle again
  in between, it destroys the new green context.
limits: When a new green context has the old one's handle value, the second destruction looks like the first of the new
  one.
measured: CUDA_ERROR_CONTEXT_IS_DESTROYED (green_destroy_twice)

# green-context-destroy-twice: right

## handle issued again
note: each is destroyed once, whatever its handle
green = cu.green_context()
cu.cuGreenCtxDestroy(green)
green = cu.green_context()
cu.cuGreenCtxDestroy(green)

# green-context-null-handle
help: look at the status of cuGreenCtxCreate, and skip the call when there is no green context
why: NULL is no green context, and the current context does not stand in for it: the calls were measured to return
  CUDA_ERROR_INVALID_CONTEXT. Usually the call that should have made it failed, and nobody looked at its status.
instead: Look at the status of `cuGreenCtxCreate`, and of the calls that split the device's resources before it.
measured: ending it, making a context or stream of it, asking it: CUDA_ERROR_INVALID_CONTEXT (green_null)

# green-context-null-handle: wrong

## a stream made in none
cu.cuGreenCtxStreamCreate(0, 1, 0)  # error: [green-context-null-handle]
"""
