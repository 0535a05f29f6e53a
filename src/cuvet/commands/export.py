"""``cuvet export``: recordings as tables, for SQL and data frames."""

import argparse
from contextlib import ExitStack
from pathlib import Path

from cuvet import CuvetError, arguments
from cuvet.numeric import import_numpy

NAME = "export"
HELP = "Write calls, objects, stacks, memory and findings of recordings to SQLite or Parquet."
EPILOG = """examples:
  cuvet export --sqlite calls.db DIR             sqlite3 calls.db "SELECT api, count(*) FROM calls GROUP BY api"
  cuvet export --parquet tables DIR              one file a table, for DuckDB, pandas and Polars; needs cuvet[parquet]
  cuvet export --sqlite calls.db --force rec.*   recordings of several processes; replaces calls.db

docs/export.md describes the tables and has queries to begin with. Both files are readable by their owner only.

exit codes: 0, whatever was found; 2 there is no recording, a file exists or cannot be written, or a mistake in the use of cuvet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="+",
        type=arguments.path,
        help="directory of a recording, or one with such below it",
    )
    parser.add_argument("--sqlite", metavar="FILE", type=arguments.path, help="write a database of SQLite to FILE")
    parser.add_argument(
        "--parquet", metavar="FOLDER", type=arguments.path, help="write a Parquet file for each table to FOLDER"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace a FILE, or tables in a FOLDER, that are there already"
    )
    parser.add_argument("--leaks", action="store_true", help="also report what was never freed")


def run(args: argparse.Namespace) -> int:
    if args.sqlite is None and args.parquet is None:
        raise CuvetError("nothing to write: give --sqlite FILE or --parquet FOLDER (see cuvet export -h)")
    import_numpy()
    from cuvet.analysis import Meta, ProcessAnalysis, analyze, read_meta
    from cuvet.analysis.merge import recordings_in
    from cuvet.launch.progress import shown
    from cuvet.reports import tables
    from cuvet.reports.tables import parquet, sqlite

    recorded: list[tables.Recorded] = []
    metas: dict[Path, Meta] = {}

    def keep(process: ProcessAnalysis) -> None:
        recording = process.recording
        directory, made = recording.path.parent, dict(recording.calls_of_thread)
        rank = metas[directory].rank_of(recording.pid)
        recorded.append(
            tables.Recorded(directory, process.history(), process.memory(), rank, recording.calls_made, made)
        )

    with ExitStack() as opened:
        writers = [
            opened.enter_context(module.writer(path, force=args.force))
            for module, path in ((sqlite, args.sqlite), (parquet, args.parquet))
            if path is not None
        ]
        directories = recordings_in(args.directories)
        metas.update((each, read_meta(each)) for each in directories)
        with shown(directories):
            report = analyze(directories, leaks=args.leaks, then=keep)
        for batch in tables.batches(report, recorded, metas):
            for write in writers:
                write(batch)
    return 0
