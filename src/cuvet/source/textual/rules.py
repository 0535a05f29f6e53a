"""All rules that the text of a file shows without a path through it."""

from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.source.languages.cpp import Found
from cuvet.source.result import Options
from cuvet.source.syntax.parsing import Node, Source
from cuvet.source.textual import (
    accepted,
    addresses,
    awaiting,
    blocks,
    capture_forks,
    captures,
    clocks,
    context_stack,
    current_device,
    deleters,
    derived,
    device_loops,
    devices,
    directions,
    elapsed,
    elements,
    ended,
    events,
    extents,
    forks,
    groups,
    growing,
    growing_members,
    heap_memory,
    host_addresses,
    host_functions,
    library_streams,
    mapped,
    moves,
    names,
    one_for_all,
    order,
    owners,
    pointer_modes,
    pointer_sizes,
    pointers,
    shared_handles,
    sizes,
    statuses,
    streams,
    tensor_devices,
    thread_devices,
    threads,
    ungrouped,
)
from cuvet.source.textual.reached import Functions
from cuvet.source.textual.written import bodies


def textual_findings(root: Node, defined: Found, source: Source, options: Options) -> Iterator[Finding]:
    """Of a whole file; also of functions that hold text which could not be parsed."""
    yield from names.removed_names(root, source, options)
    yield from moves.kept(source)
    yield from moves.kept_by_default(source)
    yield from moves.overwritten(source)
    found = list(bodies(defined.functions, source))
    functions = Functions(defined.functions, source)
    for body in found:
        yield from statuses.dropped(body)
        yield from statuses.unread(body)
        yield from accepted.left(body)
        yield from names.argument_counts(body, root, options)
        yield from pointers.host_uses(body)
        yield from pointers.device_pointers_unregistered(body)
        yield from heap_memory.freed_by_cuda(body)
        yield from awaiting.used_too_early(body)
        yield from ended.with_function(body, defined.classes)
        yield from sizes.in_elements(body)
        yield from extents.in_bytes(body)
        yield from pointer_sizes.of_pointers(body)
        yield from directions.against_kind(body)
        yield from events.never_recorded(body)
        yield from elapsed.not_awaited(body)
        yield from clocks.not_awaited(body)
        yield from blocks.too_large(body)
        yield from device_loops.on_other_device(body)
        yield from growing.while_registered(body)
        yield from owners.outlived(body)
        yield from owners.elapsed_without_timing(body)
        yield from owners.copied(body)
        yield from owners.given_to_kernels(body)
        yield from elements.never_ended(body)
        yield from forks.used_in_child(body, found)
        yield from addresses.of_pointers(body)
        yield from host_addresses.given_to_libraries(body)
        yield from threads.lost_with_thread(body)
        yield from captures.left_open(body)
        yield from captures.forbidden(body)
        yield from captures.forbidden_within(body, functions)
        yield from groups.left_open(body)
        yield from devices.not_restored(body)
        yield from streams.left_out(body)
        yield from library_streams.not_given(body)
        yield from order.unordered(body)
        yield from context_stack.left_pushed(body)
        yield from mapped.left_mapped(body)
    yield from events.members_never_recorded(found, defined.classes, root, source)
    yield from pointer_modes.host_scalars(found, source)
    yield from capture_forks.unjoined(found, source)
    yield from thread_devices.not_made_current(found, defined.functions, source)
    yield from one_for_all.on_each_device(found)
    yield from shared_handles.used_by_threads(found, defined.functions, source)
    yield from ungrouped.outside_group(found)
    yield from growing_members.members_while_registered(defined.functions, source)
    yield from sizes.of_members(found, defined.classes)
    yield from statuses.launches(found)
    yield from statuses.ended_unlike_others(found)
    yield from tensor_devices.of_tensors(found)
    yield from current_device.not_made_current(found, defined.functions, source)
    yield from derived.kept_of_ended(found, defined, source)
    yield from deleters.of_other_memory(source, found)
    yield from deleters.of_handles(source)
    yield from host_functions.calling_cuda(found, functions, defined.functions, source)
