"""Writes the tables to a folder of Parquet files, one a table, with pyarrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from cuvet import CuvetError
from cuvet.reports.tables.files import replacing
from cuvet.reports.tables.rows import Batch
from cuvet.reports.tables.schema import TABLES, Table


@contextmanager
def writer(folder: Path, *, force: bool) -> Iterator[Callable[[Batch], None]]:
    """A function that takes each batch. The files are there when the block ends without an error; others in the folder stay."""
    try:
        import pyarrow  # start: only with --parquet
        from pyarrow import parquet  # start: only with --parquet
    except ImportError:
        raise CuvetError("--parquet needs pyarrow: pip install 'cuvet[parquet]'") from None
    schemas = {table.name: _schema(table, pyarrow) for table in TABLES}
    with _folder(folder, force=force), ExitStack() as opened:
        files = {
            name: parquet.ParquetWriter(_new_file(opened, folder, name, force=force), schema, compression="zstd")
            for name, schema in schemas.items()
        }
        for file in files.values():
            opened.callback(file.close)

        def write(batch: Batch) -> None:
            name, columns = batch
            schema = schemas[name]
            arrays = [pyarrow.array(column, each.type) for column, each in zip(columns, schema, strict=True)]
            files[name].write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

        yield write


@contextmanager
def _folder(folder: Path, *, force: bool) -> Iterator[None]:
    """The folder, which is removed again if it was made and nothing came into it."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise CuvetError(f"{folder} is not a folder; choose another name") from None
        if not force and any(folder.iterdir()):
            raise CuvetError(
                f"{folder} is not empty; choose another folder, or replace its tables with --force"
            ) from None
    except OSError as error:
        raise CuvetError(f"cannot make {folder}: {error.strerror}") from None
    try:
        yield
    except BaseException as error:
        with suppress(OSError):
            folder.rmdir()
        if isinstance(error, OSError) and error.filename is None:  # of write(2): the disk is full
            raise CuvetError(f"cannot write {folder}: {error.strerror or error}") from None
        raise


def _new_file(opened: ExitStack, folder: Path, name: str, *, force: bool) -> Any:
    new = opened.enter_context(replacing(folder / f"{name}.parquet", force=force))
    return opened.enter_context(open(os.open(new, os.O_WRONLY), "wb"))


def _schema(table: Table, pyarrow: Any) -> Any:
    types = {"integer": pyarrow.int64(), "text": pyarrow.string()}
    return pyarrow.schema([(column.name, types[column.type]) for column in table.columns])
