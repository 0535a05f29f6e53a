"""Writes the tables to a database of SQLite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from cuvet import CuvetError
from cuvet.reports.tables.files import replacing
from cuvet.reports.tables.rows import Batch
from cuvet.reports.tables.schema import SCHEMA_VERSION, TABLES, Table


@contextmanager
def writer(path: Path, *, force: bool) -> Iterator[Callable[[Batch], None]]:
    """A function that takes each batch. The database is there when the block ends without an error."""
    try:
        import sqlite3  # start: only with --sqlite
    except ImportError:
        raise CuvetError("this Python was built without sqlite3: use another one, or --parquet") from None
    inserts = {table.name: _insert(table) for table in TABLES}
    with replacing(path, force=force) as new:
        try:
            with closing(sqlite3.connect(new, isolation_level=None)) as database:
                database.executescript(_beginning())
                database.execute("BEGIN")

                def write(batch: Batch) -> None:
                    name, columns = batch
                    database.executemany(inserts[name], zip(*columns, strict=True))

                yield write
                database.execute("COMMIT")
                database.executescript(_end())
        except sqlite3.Error as error:
            raise CuvetError(f"cannot write {path}: {error}") from None


def _beginning() -> str:
    """A database that is not whole is thrown away, so that it needs no journal."""
    tables = "".join(map(_create, TABLES))
    return f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA user_version = {SCHEMA_VERSION}; {tables}"


def _end() -> str:
    indices = [
        f"CREATE INDEX {table.name}_by_{'_'.join(columns)} ON {table.name} ({', '.join(columns)});"
        for table in TABLES
        for columns in table.indices
    ]
    return f"{' '.join(indices)} ANALYZE;"


def _create(table: Table) -> str:
    first = {each.name: each.columns[0].name for each in TABLES}
    columns = [
        f"{column.name} {column.type.upper()}"
        + (f" REFERENCES {column.references} ({first[column.references]})" if column.references else "")
        + (" PRIMARY KEY" if table.key == 1 and position == 0 else "")
        for position, column in enumerate(table.columns)
    ]
    if table.key > 1:
        columns.append(f"PRIMARY KEY ({', '.join(column.name for column in table.columns[: table.key])})")
    return f"CREATE TABLE {table.name} ({', '.join(columns)});"


def _insert(table: Table) -> str:
    return f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})"
