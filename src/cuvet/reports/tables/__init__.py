"""Recordings as tables, for SQL and data frames: what the tables are, what fills them, and the files that they are written to."""

from cuvet.reports.tables.rows import Recorded, batches
from cuvet.reports.tables.schema import SCHEMA_VERSION, TABLES, Column, Table

__all__ = ["SCHEMA_VERSION", "TABLES", "Column", "Recorded", "Table", "batches"]
