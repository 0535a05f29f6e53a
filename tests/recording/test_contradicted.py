"""What the driver took although a rule says that it does not: no finding, and the model has learned from it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuvet.catalog import Kind, driver

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import STREAM, Thread, report, rules

GRAPH, NODE, CAPTURED = 0x6000, 0x6100, 0x6200
ALIVE, DEAD = 3, 2


def graph_with_node(t: Thread, generation: int = 1) -> bytes:
    """A graph with one node, both destroyed."""
    records = t.call("cuGraphCreate", 1, 0, outputs=[(0, Kind.GRAPH, generation, GRAPH)])
    records += t.call("cuGraphAddEmptyNode", 1, GRAPH, 0, 0, outputs=[(0, Kind.GRAPH_NODE, generation, NODE)])
    return records + t.call("cuGraphDestroy", GRAPH, objects=[(0, Kind.GRAPH, ALIVE, generation, GRAPH, 0)])


def asked(t: Thread, flags: int, status: int, generation: int = 1) -> bytes:
    """The type of the node is asked for."""
    seen = [(0, Kind.GRAPH_NODE, flags, generation, NODE, 0)]
    return t.call("cuGraphNodeGetType", NODE, 1, status=status, flags=w.SUSPECT | w.FAILED, objects=seen)


def depends(t: Thread, status: int) -> bytes:
    """A node is added to another graph, which depends on the node."""
    nodes = {2: NODE.to_bytes(8, "little")}
    return t.call("cuGraphAddEmptyNode", 1, 0x7000, 2, 1, status=status, flags=w.LIFECYCLE | w.SUSPECT, inputs=nodes)


def begin(t: Thread) -> bytes:
    return t.call("cuStreamBeginCapture", STREAM, 0, objects=[(0, Kind.STREAM, ALIVE, 1, STREAM, 0)])


def test_a_destroyed_stream_that_the_driver_takes_is_another_stream(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.create() + t.destroy() + t.synchronize(alive=False)
    found = report(tmp_path, records + t.synchronize(alive=False, status=999))
    assert rules(found) == []
    assert found.stats["contradicted"] == 1
    assert found.stats["streams"] == 2


def test_another_stream_that_is_destroyed_is_gone(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.create(stack=1) + t.destroy(stack=2) + t.synchronize(alive=False)
    found = report(tmp_path, records + t.destroy(stack=3) + t.synchronize(alive=False, status=400))
    assert rules(found) == ["stream-use-after-destroy"]
    (stream,) = found.findings[0].objects
    assert (stream.generation, stream.created) == (2, None)


def test_what_is_measured_to_succeed_is_accused(tmp_path: Path) -> None:
    t = Thread()
    made = t.call("cuTexObjectCreate", 1, 0, 0, 0, outputs=[(0, Kind.TEXTURE_OBJECT, 1, 1)])
    twice = b"".join(
        t.call("cuTexObjectDestroy", 1, objects=[(0, Kind.TEXTURE_OBJECT, flags, 1, 1, 0)]) for flags in (ALIVE, DEAD)
    )
    found = report(tmp_path, t.setup() + made + twice)
    assert rules(found) == ["texture-destroy-twice"]
    assert "contradicted" not in found.stats


@pytest.mark.parametrize(
    ("name", "kind", "accused"),
    [
        ("cublasLtDestroy", Kind.CUBLASLT_HANDLE, ["library-handle-destroy-twice"]),
        ("cublasDestroy", Kind.CUBLAS_HANDLE, []),
        ("cusolverDnDestroy", Kind.CUSOLVER_HANDLE, []),
    ],
)
def test_a_handle_of_a_library_that_is_destroyed_twice_with_success(
    tmp_path: Path, name: str, kind: Kind, accused: list[str]
) -> None:
    t = Thread()
    records = w.every_entry_point() + t.setup()
    records += t.call(name.replace("Destroy", "Create"), 1, outputs=[(0, kind, 1, 0x7000)])
    for flags in (ALIVE, DEAD):
        records += t.call(name, 0x7000, objects=[(0, kind, flags, 1, 0x7000, 0)])
    assert rules(report(tmp_path, records)) == accused


def test_a_node_of_a_destroyed_graph_that_the_driver_takes_is_another_node(tmp_path: Path) -> None:
    """As cuda-samples' graphConditionalNodes: the node is one of a capture."""
    t = Thread()
    found = report(tmp_path, t.setup() + graph_with_node(t) + depends(t, 0) + asked(t, DEAD, 0) + asked(t, DEAD, 1))
    assert rules(found) == []
    assert found.stats["contradicted"] == 1


def test_a_node_of_a_destroyed_graph_that_the_driver_refuses_is_told(tmp_path: Path) -> None:
    t = Thread()
    found = report(tmp_path, t.setup() + graph_with_node(t) + depends(t, 1))
    assert rules(found) == ["graph-node-use-after-graph-destroy"]


@pytest.mark.parametrize("dies", [False, True])
def test_a_capture_that_hands_out_no_node_gives_a_dead_one_no_life(tmp_path: Path, dies: bool) -> None:
    t = Thread()
    records = t.setup() + t.create() + graph_with_node(t) + begin(t) + depends(t, w.PENDING if dies else 1)
    records += w.fault(11, 1, ticks=t.at + 5) if dies else b""
    assert rules(report(tmp_path, records, end=0)) == ["graph-node-use-after-graph-destroy"]


def hand_out(t: Thread, generation: int) -> bytes:
    """The capture's graph, and the node that it makes next follows: one with the handle of the destroyed one."""
    node = w.handed_out(t.calls + 1, t.number, [(4, Kind.GRAPH_NODE, generation, NODE)])
    outputs = [(1, Kind.NONE, 0, 1), (3, Kind.GRAPH, 1, CAPTURED), (4, Kind.NONE, 0, 0x9000), (6, Kind.NONE, 0, 1)]
    return node + t.call("cuStreamGetCaptureInfo", STREAM, 1, 0, 1, 1, 0, 1, outputs=outputs)


def test_a_captured_node_that_was_handed_out_is_another_node(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.create() + graph_with_node(t) + begin(t) + hand_out(t, generation=2)
    found = report(tmp_path, records + depends(t, 1) + asked(t, ALIVE, 1, generation=2))
    assert rules(found) == []
    assert "contradicted" not in found.stats


def test_a_captured_node_ends_with_its_graph(tmp_path: Path) -> None:
    t = Thread()
    records = t.setup() + t.create() + graph_with_node(t) + begin(t) + hand_out(t, generation=2)
    records += t.call("cuStreamEndCapture", STREAM, 1, outputs=[(1, Kind.GRAPH, 1, CAPTURED)])
    records += t.call("cuGraphDestroy", CAPTURED, objects=[(0, Kind.GRAPH, ALIVE, 1, CAPTURED, 0)])
    found = report(tmp_path, records + asked(t, DEAD, 1, generation=2))
    assert rules(found) == ["graph-node-use-after-graph-destroy"]
    node, graph = found.findings[0].objects
    assert (node.generation, node.created.api, graph.handle) == (2, "cuStreamGetCaptureInfo", hex(CAPTURED))


def test_every_call_of_the_driver_can_be_accepted(tmp_path: Path) -> None:
    """Nothing is accused of success without a word about it, whatever the object."""
    t = Thread()
    context = t.call("cuCtxCreate", 1, 0, 0, 0, outputs=[(0, Kind.CONTEXT, 1, 0xD000)], context=0xC000)
    gone = t.call("cuCtxDestroy", 0xD000, objects=[(0, Kind.CONTEXT, ALIVE, 1, 0xD000, 0)])
    flags = [(0, Kind.CONTEXT, DEAD, 1, 0xD000, 0)]
    index = driver()["cuCtxGetApiVersion"].index["ctx"]
    args = [0, 0]
    args[index] = 0xD000
    asked_for = t.call("cuCtxGetApiVersion", *args, flags=w.SUSPECT, objects=flags)
    found = report(tmp_path, t.setup() + context + gone + asked_for)
    assert rules(found) == []
    assert found.stats["contradicted"] == 1
