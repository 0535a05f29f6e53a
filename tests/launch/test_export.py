"""``cuvet export`` of recordings of programs on the emulated device."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def test_a_program_in_a_database(cuvet, runtime_program, tmp_path: Path) -> None:
    ran = cuvet.run(("--device", "emulated"), [runtime_program("mistakes"), "stale-stream"])
    database = tmp_path / "calls.db"
    done = cuvet("export", "--sqlite", database, ran.trace)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with closing(sqlite3.connect(database)) as opened:
        found = opened.execute(
            "SELECT findings.name, calls.api, frames.function, frames.line, objects.kind, ended.api FROM findings"
            " JOIN calls USING (call_id) JOIN finding_objects USING (finding_id) JOIN objects USING (object_id)"
            " JOIN calls AS ended ON ended.call_id = objects.ended_call_id"
            " JOIN frames ON frames.stack_id = calls.stack_id AND depth = 0"
        ).fetchall()
        assert found == [("stream-use-after-destroy", "cudaEventRecord", "main", 27, "stream", "cudaStreamDestroy")]
        assert opened.execute("SELECT device, exit_code FROM recordings").fetchall() == [("emulated", ran.code)]
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []


def test_memory_by_place(cuvet, runtime_program, tmp_path: Path) -> None:
    ran = cuvet.run(("--device", "emulated"), [runtime_program("memory"), "every-kind"])
    database = tmp_path / "calls.db"
    assert cuvet("export", "--sqlite", database, ran.trace).returncode == 0
    with closing(sqlite3.connect(database)) as opened:
        held = opened.execute("SELECT memory, peak_bytes >> 20 FROM memory ORDER BY memory_id").fetchall()
        sizes = opened.execute("SELECT kind, size_bytes FROM objects WHERE size_bytes IS NOT NULL").fetchall()
        assert opened.execute("SELECT count(*) FROM findings").fetchone() == (0,)
    assert held == [("device", 10), ("managed", 3), ("host", 7)]
    assert sorted(sizes) == [("device memory", 3 << 20), ("device memory", 5 << 20), ("host memory", 7 << 20)]


def test_all_recordings_below_a_directory_are_exported(cuvet, runtime_program, tmp_path: Path) -> None:
    for rank in range(2):
        command = ("run", "--device", "emulated", "--trace", tmp_path / f"job/rec.{rank}", "--")
        cuvet(*command, runtime_program("mistakes"), "stale-stream", RANK=str(rank), WORLD_SIZE="2")
    database = tmp_path / "calls.db"
    done = cuvet("export", "--sqlite", database, tmp_path / "job")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with closing(sqlite3.connect(database)) as opened:
        ranks = opened.execute("SELECT rank FROM processes ORDER BY rank").fetchall()
    assert ranks == [(0,), (1,)]
