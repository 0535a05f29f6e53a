"""``cuvet export``: what stands in the tables, the questions of docs/export.md, and files that nobody else reads or loses."""

from __future__ import annotations

import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cuvet.analysis import ProcessAnalysis, analyze
from cuvet.catalog import Kind
from cuvet.cli import main
from cuvet.findings import EarlierCall, Finding, Rank
from cuvet.meta import Meta
from cuvet.reports.tables import TABLES, rows

sys.path.insert(0, str(Path(__file__).parents[1] / "recording"))
import writing as w

PAGE = (Path(__file__).parents[2] / "docs/export.md").read_text(encoding="utf-8")
CONTEXT, STREAM, ADDRESS = 0xC000, 0x5000, 0x7F0000000000
EVIL = "x'); DROP TABLE calls; --\x1b[31m\x00\n\u202e"

Question = Callable[[str], list[tuple[Any, ...]]]


def recorded(directory: Path, *records: bytes, name: str = "main") -> Path:
    """A stream that is used after its end by one thread, and memory of another."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    both = (
        w.thread(1, name[:200])
        + w.python_code(1, f"{name}.py", name)
        + w.stack(1, (0x2000,), [(1, 2), (1, 4)])
        + w.call("cuInit", [0], number=1, entered=1, context=0)
        + w.call("cuDevicePrimaryCtxRetain", [1, 0], number=2, entered=20, context=0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)])
        + w.call("cuMemAlloc", [1, 4096], number=1, thread=2, entered=40, context=CONTEXT, outputs=[(0, Kind.MEMORY, 1, ADDRESS)], stack=1)
        + w.call("cuStreamCreate", [1, 0], number=3, entered=60, context=CONTEXT, outputs=[(0, Kind.STREAM, 1, STREAM)], stack=1)
        + w.call("cuMemsetD8Async", [ADDRESS, 0, 8, STREAM], number=4, entered=80, context=CONTEXT, stack=1, flags=w.WORK,
                 objects=[(0, Kind.MEMORY, 3, 1, ADDRESS, CONTEXT), (3, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
        + w.call("cuStreamDestroy", [STREAM], number=5, entered=100, context=CONTEXT, stack=1,
                 objects=[(0, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
        + w.call("cuMemsetD8Async", [ADDRESS, 0, 8, STREAM], number=6, entered=120, context=CONTEXT, stack=1, status=400,
                 flags=w.WORK | w.SUSPECT | w.FAILED,
                 objects=[(0, Kind.MEMORY, 3, 1, ADDRESS, CONTEXT), (3, Kind.STREAM, 2, 1, STREAM, CONTEXT)])
    )  # fmt: skip
    w.write(directory, [w.chunk(both + b"".join(records))], executable="a.out")
    return directory


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Question]:
    """Asks the database of that recording."""
    database = tmp_path / "calls.db"
    assert main(["export", "--sqlite", str(database), str(recorded(tmp_path / "rec"))]) == 0
    with closing(sqlite3.connect(database)) as opened:
        yield lambda query: opened.execute(query).fetchall()


def test_calls_have_their_thread_time_result_and_place(ask: Question) -> None:
    found = ask(
        "SELECT thread, number, entry_point, time_ns, duration_ns, status, function, line FROM calls"
        " LEFT JOIN frames ON frames.stack_id = calls.stack_id AND depth = 0 ORDER BY call_id"
    )
    assert found[0] == (1, 1, "cuInit", 1, 10, 0, None, None)
    assert found[2] == (2, 1, "cuMemAlloc", 40, 10, 0, "main", 2)
    assert found[-1] == (1, 6, "cuMemsetD8Async", 120, 10, 400, "main", 2)


def test_objects_refer_to_the_calls_that_made_and_ended_them(ask: Question) -> None:
    found = ask(
        "SELECT kind, handle, size_bytes, created_ns, ended_ns, made.entry_point, ended.entry_point FROM objects"
        " JOIN calls AS made ON made.call_id = created_call_id LEFT JOIN calls AS ended ON ended.call_id = ended_call_id"
    )
    assert found == [
        ("context", "0xc000", None, 30, None, "cuDevicePrimaryCtxRetain", None),
        ("device memory", "0x7f0000000000", 4096, 50, None, "cuMemAlloc", None),
        ("stream", "0x5000", None, 70, 100, "cuStreamCreate", "cuStreamDestroy"),
    ]


def test_work_refers_to_its_stream_also_behind_its_end(ask: Question) -> None:
    found = ask("SELECT number, kind FROM calls JOIN objects ON object_id = stream_object_id")
    assert found == [(4, "stream"), (6, "stream")]


def test_work_on_a_handle_that_is_made_again_refers_to_the_new_stream(tmp_path: Path) -> None:
    again = w.call(
        "cuStreamCreate", [1, 0], number=7, entered=140, context=CONTEXT, outputs=[(0, Kind.STREAM, 2, STREAM)]
    ) + w.call(
        "cuMemsetD8Async", [ADDRESS, 0, 8, STREAM], number=8, entered=160, context=CONTEXT, flags=w.WORK,
        objects=[(0, Kind.MEMORY, 3, 1, ADDRESS, CONTEXT), (3, Kind.STREAM, 3, 2, STREAM, CONTEXT)],
    ) + w.call(
        "cuMemsetD8Async", [ADDRESS, 0, 8, 0], number=9, entered=180, context=CONTEXT, flags=w.WORK,
        objects=[(0, Kind.MEMORY, 3, 1, ADDRESS, CONTEXT)],
    )  # fmt: skip
    database = tmp_path / "calls.db"
    assert main(["export", "--sqlite", str(database), str(recorded(tmp_path / "rec", again))]) == 0
    with closing(sqlite3.connect(database)) as opened:
        found = opened.execute(
            "SELECT number, created_ns FROM calls LEFT JOIN objects ON object_id = stream_object_id"
            " WHERE entry_point = 'cuMemsetD8Async' ORDER BY number"
        ).fetchall()
    assert found == [(4, 70), (6, 70), (8, 150), (9, None)]


def exported(tmp_path: Path, *records: bytes) -> sqlite3.Connection:
    """The database of that recording with more calls."""
    database = tmp_path / "calls.db"
    assert main(["export", "--sqlite", str(database), str(recorded(tmp_path / "rec", *records))]) == 0
    return sqlite3.connect(database)


def test_work_on_a_stream_that_was_never_made_refers_to_none(tmp_path: Path) -> None:
    unknown = w.call(
        "cuMemsetD8Async", [ADDRESS, 0, 8, STREAM + 1], number=7, entered=140, context=CONTEXT, flags=w.WORK,
        objects=[(0, Kind.MEMORY, 3, 1, ADDRESS, CONTEXT)],
    )  # fmt: skip
    with closing(exported(tmp_path, unknown)) as opened:
        assert opened.execute("SELECT stream_object_id FROM calls WHERE number = 7").fetchall() == [(None,)]


def test_a_call_that_did_not_return_has_no_status_and_no_duration(tmp_path: Path) -> None:
    pending = w.call("cuCtxSynchronize", number=7, entered=140, context=CONTEXT, status=w.PENDING)
    with closing(exported(tmp_path, pending)) as opened:
        assert opened.execute("SELECT status, duration_ns FROM calls WHERE number = 7").fetchall() == [(None, None)]


def made(tmp_path: Path, change: Callable[[Finding], Finding]) -> dict[str, list[tuple[Any, ...]]]:
    """The tables of a report whose finding was changed: rows by table."""
    recording, found = recorded(tmp_path / "rec"), []

    def keep(process: ProcessAnalysis) -> None:
        found.append(rows.Recorded(recording, process.history(), (), None, 0, {}))

    report = analyze([recording], then=keep)
    report = msgspec.structs.replace(report, findings=tuple(map(change, report.findings)))
    tables: dict[str, list[tuple[Any, ...]]] = {}
    for name, columns in rows.batches(report, found, {recording: Meta()}):
        tables.setdefault(name, []).extend(zip(*columns, strict=True))
    return tables


def column(tables: dict[str, list[tuple[Any, ...]]], table: str, name: str) -> list[Any]:
    (known,) = (each for each in TABLES if each.name == table)
    at = [each.name for each in known.columns].index(name)
    return [row[at] for row in tables[table]]


def test_a_finding_about_what_is_no_call_refers_to_none(tmp_path: Path) -> None:
    read = made(tmp_path / "one", lambda finding: msgspec.structs.replace(finding, host="read"))
    called = made(tmp_path / "two", lambda finding: finding)
    assert column(read, "findings", "call_id") == [None]
    assert column(called, "findings", "call_id") == [7]


def test_what_follows_from_a_finding_refers_to_it(tmp_path: Path) -> None:
    tables = made(tmp_path, lambda finding: msgspec.structs.replace(finding, consequences=(finding, finding)))
    assert column(tables, "findings", "finding_id") == [1, 2, 3]
    assert column(tables, "findings", "caused_by_finding_id") == [None, 1, 1]
    assert column(tables, "finding_objects", "finding_id") == [1, 2, 3]


def test_the_other_side_of_a_finding_refers_to_its_call(tmp_path: Path) -> None:
    def change(finding: Finding) -> Finding:
        site = finding.objects[0].created
        assert site is not None
        return msgspec.structs.replace(finding, earlier=(EarlierCall(text="made it", site=site),))

    tables = made(tmp_path, change)
    assert [row[:3] for row in tables["finding_calls"]] == [(1, 0, "made it")]
    assert column(tables, "finding_calls", "call_id") == [4]


def test_a_finding_refers_to_its_call_its_object_and_their_stacks(ask: Question) -> None:
    found = ask(
        "SELECT findings.name, findings.status, calls.number, finding_objects.name, objects.kind, destroyed.entry_point,"
        " frame_count FROM findings JOIN calls USING (call_id) JOIN finding_objects USING (finding_id)"
        " JOIN objects USING (object_id) JOIN calls AS destroyed ON destroyed.call_id = destroyed_call_id"
        " JOIN stacks ON stacks.stack_id = destroyed_stack_id"
    )
    assert found == [("stream-use-after-destroy", 400, 6, "stream#1", "stream", "cuStreamDestroy", 3)]


def test_memory_is_counted_as_in_the_report(ask: Question) -> None:
    assert ask("SELECT memory, device, end_bytes, peak_bytes, peak_allocations FROM memory") == [
        ("device", 0, 4096, 4096, 1)
    ]
    assert ask("SELECT position, end_bytes, peak_bytes FROM memory_places") == [(0, 4096, 4096)]


def test_threads_and_processes_say_how_many_calls_there_were(ask: Question) -> None:
    assert ask("SELECT thread, name, calls_made FROM threads") == [(1, "main", 6), (2, None, 1)]
    assert ask("SELECT calls_made, calls_stored FROM processes") == [(7, 7)]


def test_what_is_referred_to_is_there(ask: Question) -> None:
    assert ask("PRAGMA foreign_key_check") == []
    assert ask("PRAGMA integrity_check") == [("ok",)]


def test_the_version_of_the_tables_is_told(ask: Question) -> None:
    assert dict(ask("SELECT * FROM meta"))["schema_version"] == "1"  # type: ignore[arg-type]
    assert ask("PRAGMA user_version") == [(1,)]


@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL))
def test_a_question_of_the_page_is_answered(query: str, ask: Question) -> None:
    assert ask(query)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_page_names_every_column(table: Any) -> None:
    (row,) = re.findall(rf"^\| `{table.name}` \|.*", PAGE, re.MULTILINE)
    assert [column.name for column in table.columns if f"`{column.name}`" not in row] == []


def test_the_tables_of_version_1_stay_as_they_are() -> None:
    """Add at the end of a table, or a table. What is here is asked for by queries of others."""
    named = "\n".join(f"{table.name}: {' '.join(column.name for column in table.columns)}" for table in TABLES)
    assert (
        "calls: call_id process_id thread number api entry_point time_ns duration_ns status stream_object_id stack_id"
        in named
    )
    assert (
        "objects: object_id process_id kind handle size_bytes created_ns ended_ns created_call_id ended_call_id"
        in named
    )
    assert "frames: stack_id depth function file line module language" in named


def test_what_a_recording_names_is_text(tmp_path: Path) -> None:
    database = tmp_path / "calls.db"
    recording = recorded(tmp_path / "rec-\udcff", name=EVIL)
    assert main(["export", "--sqlite", str(database), str(recording)]) == 0
    with closing(sqlite3.connect(database)) as opened:
        (function,) = opened.execute("SELECT DISTINCT function FROM frames").fetchone()
        (directory,) = opened.execute("SELECT directory FROM recordings").fetchone()
        (count,) = opened.execute("SELECT count(*) FROM calls").fetchone()
    assert function.startswith("x'); DROP TABLE calls; --\\x1b[31m\\x00")
    assert "\\u202e" in function
    assert directory.endswith("rec-\\xff")
    assert count == 7


def test_numbers_that_no_recording_of_ours_has_are_cut(tmp_path: Path) -> None:
    huge = w.call(
        "cuMemAlloc", [1, (1 << 64) - 2], number=(1 << 64) - 1, thread=(1 << 32) - 1, entered=(1 << 64) - 1, returned=5,
        context=CONTEXT, outputs=[(0, Kind.MEMORY, 1, (1 << 64) - 1)],
    )  # fmt: skip
    database = tmp_path / "calls.db"
    assert main(["export", "--sqlite", str(database), str(recorded(tmp_path / "rec", huge))]) == 0
    with closing(sqlite3.connect(database)) as opened:
        assert opened.execute("SELECT max(number) FROM calls").fetchone() == (rows.MOST,)
        assert opened.execute("SELECT max(size_bytes) FROM objects").fetchone() == (rows.MOST,)


def test_two_recordings_stand_in_one_database(tmp_path: Path) -> None:
    database = tmp_path / "calls.db"
    several = [str(recorded(tmp_path / name)) for name in ("one", "two")]
    assert main(["export", "--sqlite", str(database), *several]) == 0
    with closing(sqlite3.connect(database)) as opened:
        assert opened.execute("SELECT count(*), count(DISTINCT process_id) FROM calls").fetchone() == (14, 2)
        assert opened.execute("SELECT count(*) FROM recordings").fetchone() == (2,)
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []


def test_ranks_and_processes_of_one_number_are_told_apart(tmp_path: Path) -> None:
    """As of containers, each of which has a process 1000."""
    several = [recorded(tmp_path / str(rank)) for rank in range(2)]
    for rank, directory in enumerate(several):
        meta = Meta(argv=("a.out",), host=f"host-{rank}", rank=Rank(rank=rank, size=2))
        (directory / "meta.json").write_bytes(msgspec.json.encode(meta))
    database = tmp_path / "calls.db"
    assert main(["export", "--sqlite", str(database), *map(str, several)]) == 0
    with closing(sqlite3.connect(database)) as opened:
        found = opened.execute("SELECT host, rank, world_size FROM processes JOIN recordings USING (recording_id)")
        assert found.fetchall() == [("host-0", 0, 2), ("host-1", 1, 2)]
        assert opened.execute("SELECT process_id, peak_bytes FROM memory").fetchall() == [(1, 4096), (2, 4096)]


def test_a_finding_belongs_to_the_process_of_its_number_that_made_its_call(tmp_path: Path) -> None:
    first = recorded(tmp_path / "first")
    silent = w.call("cuInit", [0], number=1, entered=1, context=0) + w.call(
        "cuInit", [0], number=6, entered=9, context=0
    )
    (tmp_path / "silent").mkdir()
    w.write(tmp_path / "silent", [w.chunk(silent)], executable="a.out")
    database = tmp_path / "calls.db"
    assert main(["export", "--sqlite", str(database), str(tmp_path / "silent"), str(first)]) == 0
    with closing(sqlite3.connect(database)) as opened:
        found = opened.execute("SELECT findings.process_id, calls.entry_point FROM findings JOIN calls USING (call_id)")
        assert found.fetchall() == [(2, "cuMemsetD8Async")]


def test_a_program_without_cuda_is_one_recording(tmp_path: Path) -> None:
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec/meta.json").write_bytes(msgspec.json.encode(Meta(argv=("a.out",), exit_code=3)))
    database = tmp_path / "calls.db"
    assert main(["export", "--sqlite", str(database), str(tmp_path / "rec")]) == 0
    with closing(sqlite3.connect(database)) as opened:
        assert opened.execute("SELECT arguments, exit_code FROM recordings").fetchall() == [('["a.out"]', 3)]
        assert opened.execute("SELECT count(*) FROM calls").fetchone() == (0,)


def test_batches_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = str(recorded(tmp_path / "rec"))
    assert main(["export", "--sqlite", str(tmp_path / "one.db"), recording]) == 0
    monkeypatch.setattr(rows, "ROWS", 2)
    assert main(["export", "--sqlite", str(tmp_path / "two.db"), recording]) == 0
    one, two = (closing(sqlite3.connect(tmp_path / name)) for name in ("one.db", "two.db"))
    with one as first, two as second:
        assert list(first.iterdump()) == list(second.iterdump())


def test_parquet_has_the_same_tables(tmp_path: Path) -> None:
    reader = pytest.importorskip("pyarrow.parquet")
    database, folder = tmp_path / "calls.db", tmp_path / "tables"
    recording = str(recorded(tmp_path / "rec", name=EVIL))
    assert main(["export", "--sqlite", str(database), "--parquet", str(folder), recording]) == 0
    with closing(sqlite3.connect(database)) as opened:
        for table in TABLES:
            read = reader.read_table(folder / f"{table.name}.parquet")
            assert read.column_names == [column.name for column in table.columns]
            columns = [column.to_pylist() for column in read.columns]
            assert list(zip(*columns, strict=True)) == opened.execute(f"SELECT * FROM {table.name}").fetchall()


def test_files_are_private(tmp_path: Path) -> None:
    recording, database, folder = str(recorded(tmp_path / "rec")), tmp_path / "calls.db", tmp_path / "tables"
    assert main(["export", "--sqlite", str(database), recording]) == 0
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    pytest.importorskip("pyarrow")
    assert main(["export", "--parquet", str(folder), recording]) == 0
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_a_file_is_replaced_only_with_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording, database = str(recorded(tmp_path / "rec")), tmp_path / "calls.db"
    database.write_text("mine")
    assert main(["export", "--sqlite", str(database), recording]) == 2
    assert capsys.readouterr().err == f"cuvet: {database} exists; choose another name, or replace it with --force\n"
    assert database.read_text() == "mine"
    assert main(["export", "--sqlite", str(database), "--force", recording]) == 0
    assert database.read_bytes().startswith(b"SQLite format 3")
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


def test_a_link_is_no_way_to_another_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording, database, other = str(recorded(tmp_path / "rec")), tmp_path / "calls.db", tmp_path / "other"
    other.write_text("mine")
    database.symlink_to(other)
    assert main(["export", "--sqlite", str(database), "--force", recording]) == 2
    assert "is not a regular file" in capsys.readouterr().err
    assert other.read_text() == "mine"


def test_tables_are_replaced_only_with_force_and_other_files_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    recording, folder = str(recorded(tmp_path / "rec")), tmp_path / "tables"
    folder.mkdir()
    assert main(["export", "--parquet", str(folder), recording]) == 0
    (folder / "mine.txt").write_text("mine")
    (folder / "calls.parquet").write_text("old")
    assert main(["export", "--parquet", str(folder), recording]) == 2
    assert "replace its tables with --force" in capsys.readouterr().err
    assert (folder / "calls.parquet").read_text() == "old"
    assert main(["export", "--parquet", str(folder), "--force", recording]) == 0
    assert (folder / "calls.parquet").read_bytes().startswith(b"PAR1")
    assert (folder / "mine.txt").read_text() == "mine"


def test_what_fails_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    arguments = ["--sqlite", str(tmp_path / "calls.db"), "--parquet", str(tmp_path / "tables"), str(tmp_path / "none")]
    assert main(["export", *arguments]) == 2
    assert capsys.readouterr().err == f"cuvet: {tmp_path / 'none'}: no such directory\n"
    assert list(tmp_path.iterdir()) == []


def test_what_fails_leaves_the_old_file(tmp_path: Path) -> None:
    database = tmp_path / "calls.db"
    database.write_text("mine")
    assert main(["export", "--sqlite", str(database), "--force", str(tmp_path / "none")]) == 2
    assert database.read_text() == "mine"
    assert [file.name for file in tmp_path.iterdir()] == ["calls.db"]


@pytest.mark.parametrize("option", ["--sqlite", "--parquet"])
def test_a_full_disk_is_one_line_and_leaves_nothing(option: str, tmp_path: Path) -> None:
    if option == "--parquet":
        pytest.importorskip("pyarrow")
    recorded(tmp_path / "rec")
    limited = (
        "import resource, sys; from cuvet.cli import main; from cuvet.analysis import analyze; import sqlite3;"
        " resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)); sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", limited, "export", option, str(tmp_path / "out"), str(tmp_path / "rec")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"cuvet: cannot write [^\n]*\n", done.stderr)
    assert [file.name for file in tmp_path.iterdir()] == ["rec"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to write: give --sqlite FILE or --parquet FOLDER (see cuvet export -h)"),
        (("--sqlite", ""), "argument --sqlite: '' is not a path (see cuvet export -h)"),
        (("--sqlite", "none/calls.db"), "cannot write none/calls.db: No such file or directory"),
        (("--sqlite", "rec"), "rec is not a regular file; choose another name"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: Sequence[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recorded(tmp_path / "rec")
    monkeypatch.chdir(tmp_path)
    assert main(["export", *arguments, "rec"]) == 2
    assert capsys.readouterr() == ("", f"cuvet: {said}\n")


def test_without_pyarrow_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["export", "--parquet", str(tmp_path / "tables"), str(recorded(tmp_path / "rec"))]) == 2
    assert capsys.readouterr().err == "cuvet: --parquet needs pyarrow: pip install 'cuvet[parquet]'\n"
    assert not (tmp_path / "tables").exists()


def test_without_sqlite_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    assert main(["export", "--sqlite", str(tmp_path / "calls.db"), str(recorded(tmp_path / "rec"))]) == 2
    assert "this Python was built without sqlite3" in capsys.readouterr().err
