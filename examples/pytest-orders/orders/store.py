"""The invoices on disk, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

SCHEMA = "CREATE TABLE IF NOT EXISTS invoices (order_id TEXT PRIMARY KEY, cents INTEGER NOT NULL)"


class Store:
    """One writer. An order that is invoiced already is left alone: after a crash some come again."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.execute("PRAGMA journal_mode = WAL")  # a reader need not wait for the writer
        self._connection.execute(SCHEMA)

    def invoice(self, order_id: str, cents: int) -> bool:
        """Whether it is new. On disk when this returns."""
        with self._connection:
            done = self._connection.execute("INSERT OR IGNORE INTO invoices VALUES (?, ?)", (order_id, cents))
        return done.rowcount == 1


def invoiced(path: Path) -> Iterator[str]:
    """The orders that have an invoice; none while there is no database yet."""
    if path.exists():
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(SCHEMA)
            yield from (order_id for (order_id,) in connection.execute("SELECT order_id FROM invoices"))
