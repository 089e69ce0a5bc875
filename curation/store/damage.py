"""Damage of a store's file: found in its blocks, told in one sentence wherever DuckDB meets it.

A DuckDB file is three headers of 4 KiB and then blocks of 256 KiB, each with a checksum in front. DuckDB checks a block
when it reads it; what a command does not read, it does not see. So all blocks are looked at before a store is written.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import numpy as np

from curation.store.last_look import is_untouched, note_whole
from schemas.core.errors import StoreError
from schemas.text.counting import counted

HEADER, BLOCK = 4096, 2**18
_PIECE = (BLOCK - 8) // 64 // 8 * 8
_NOWHERE, _LONGEST = 2**64 - 1, 2**24
TABLES = ("records", "lineage", "splits", "split_cases", "results", "sources", "source_items", "meta", "migrations")
_SIGNS = re.compile(r"checksum|[Cc]orrupt|enough bytes|^Serialization|INTERNAL|FATAL|invalidated|\bWAL\b")
_NO_SPACE = re.compile(r"No space left|Out of Memory|out of memory|disk is full|max_temp_directory")


def checksum(data: bytes) -> int:
    """DuckDB's checksum of a block or header without its first 8 bytes."""
    words = np.frombuffer(data, dtype="<u8")
    return int(np.bitwise_xor.reduce(words * np.uint64(0xBF58476D1CE4E5B9))) ^ 5381


def checksum_fits(data: bytes) -> bool:
    """Whether a block or header begins with its checksum."""
    return int.from_bytes(data[:8], "little") == checksum(data[8:])


def readable_headers(path: Path) -> bool:
    """Whether one of the three headers is as it was written; else blocks cannot be looked at."""
    with open(path, "rb") as file:
        return any(len(head) == HEADER and checksum_fits(head) for head in [file.read(HEADER) for _ in range(3)])


def bad_blocks(path: Path) -> tuple[int, ...]:
    """Numbers of the blocks in use whose content is not that of their checksum, from 0; one that is cut off is one.

    Nothing is found where the headers do not fit either: DuckDB looks at these itself, or counts in another way. What
    stands behind the last block that the headers count, or in a block of the free list, is left of a writer that was
    killed or of rows that are gone: nothing uses it.
    """
    if not readable_headers(path):
        return ()
    blocks: list[int] = []
    with open(path, "rb") as file:
        heads = [file.read(HEADER) for _ in range(3)][1:]
        end, number = _block_count(heads), 0
        while (end is None or number < end) and (data := file.read(BLOCK)):
            if len(data) < BLOCK or not checksum_fits(data):
                blocks.append(number)
            number += 1
        if blocks and end is not None:
            free = _free_list(file, heads, damaged=set(blocks))
            blocks = [number for number in blocks if number not in free]
    return tuple(blocks)


def _free_list(file: BinaryIO, heads: list[bytes], *, damaged: Container[int]) -> set[int]:
    """Blocks that nothing uses, as the newer header lists them; none where a part of the list is damaged itself.

    The list lies in pieces of a 64th of a block, each beginning with where the next one is: the block in 56 bits, the
    piece in 8. It begins with its length.
    """
    held, place = b"", int(max(struct.unpack_from("<QQQQ", head, 8) for head in heads)[2])
    while place != _NOWHERE and len(held) < _LONGEST:
        block, piece = place & (2**56 - 1), place >> 56
        if block in damaged:
            return set()
        file.seek(3 * HEADER + block * BLOCK + 8 + piece * _PIECE)
        data = file.read(_PIECE)
        if len(data) < _PIECE:
            return set()
        place, held = int.from_bytes(data[:8], "little"), held + data[8:]
    length = int.from_bytes(held[:8], "little")
    if len(held) < 8 * (length + 1):
        return set()
    return set(struct.unpack_from(f"<{length}q", held, 8))


def _block_count(heads: list[bytes]) -> int | None:
    """How many blocks the newer of the two database headers counts; None where one of them does not fit."""
    if not all(len(head) == HEADER and checksum_fits(head) for head in heads):
        return None
    rounds = [struct.unpack_from("<QQQQ", head, 8) for head in heads]  # iteration, meta block, free list, blocks
    return int(max(rounds)[3])


def broken_tables(path: Path, config: dict[str, Any]) -> tuple[str, ...] | None:
    """The tables that cannot be read to the end; None where the file cannot be opened at all."""
    try:
        db = duckdb.connect(str(path), read_only=True, config=config)
    except duckdb.Error:
        return None
    broken = []
    with db:
        for table in TABLES:
            try:
                cursor = db.execute(f"SELECT count(*), bit_xor(hash(COLUMNS(*))) FROM {table}")
                cursor.fetchall()
            except duckdb.CatalogException:
                continue
            except duckdb.Error as error:
                if not is_damage(error):
                    raise
                broken.append(table)
                with contextlib.suppress(duckdb.Error):  # a fault can end the whole connection
                    db.close()
                    db = duckdb.connect(str(path), read_only=True, config=config)
    return tuple(broken)


def is_damage(error: duckdb.Error) -> bool:
    """Whether an error of DuckDB says that the file is not what was written; a faulty statement says no such thing."""
    text, statement = str(error), isinstance(error, (duckdb.ProgrammingError, duckdb.DataError))
    return not statement and bool(_SIGNS.search(text)) and not _NO_SPACE.search(text)


def refuse_damaged(path: Path, config: dict[str, Any]) -> None:
    """Refuse a store of which a block that is in use is not what was written.

    A large store that nobody touched since it was last known to be whole is not read again.

    Raises:
        StoreError: such a block.
    """
    if is_untouched(path):
        return
    if not (bad := bad_blocks(path)):
        note_whole(path, looked=True)
        return
    broken = broken_tables(path, config)
    raise damage_error(path, f"{counted(len(bad), 'block')} not as written", config, broken=broken)


def damage_error(path: Path, reason: str, config: dict[str, Any], *, broken: tuple[str, ...] | None = ()) -> StoreError:
    """The one sentence: damaged, what is readable, what to do."""
    if broken == ():
        with contextlib.suppress(duckdb.Error):
            broken = broken_tables(path, config)
    whole = [table for table in TABLES[:5] if broken is not None and table not in broken]
    readable = f"whole are {', '.join(whole)}" if whole else "no table can be read as a whole"
    reason = " ".join(reason.split())
    return StoreError(
        f"the file is damaged and was left untouched ({reason[:120]}); {readable}",
        where=str(path),
        fix=f"save what is readable with: scedit store salvage {path} --out NEW, or restore a backup",
    )


class Connection:
    """A connection to a store: DuckDB's, but damage is told as damage, and a lack of room as that.

    Other errors of DuckDB (a faulty statement) stay as they are.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, path: Path, config: dict[str, Any]) -> None:
        self._db, self._path, self._config = db, path, config

    @contextlib.contextmanager
    def _damage_as_error(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            text = str(error)
            if _NO_SPACE.search(text):
                raise StoreError(
                    f"there is no room for this step: {' '.join(text.split())[:160]}",
                    where=str(self._path),
                    fix="nothing of this step was kept; free some space, or set SCEDIT_STORE_MEMORY",
                ) from None
            if is_damage(error):
                raise damage_error(self._path, text, self._config) from None
            raise

    def execute(self, sql: str, values: Any = None) -> Connection:
        """Run a statement; its rows are then fetched from here."""
        with self._damage_as_error():
            self._db.execute(sql, values) if values is not None else self._db.execute(sql)
        return self

    def execute_over(self, sql: str, columns: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Run a statement over arrays of numpy, the columns of a table within; ``{}`` in it is the table's name.

        Each column has the type that its values have. DuckDB finds the table among the variables of this function: one
        that is registered would be held, values and all, until the transaction ends.
        """
        with contextlib.suppress(duckdb.Error):  # given up, as execute does; there may have been no statement
            self._db.fetchall()
        scedit_arrays = dict(columns)
        with self._damage_as_error():
            self._db.execute(sql.format("scedit_arrays"))
        del scedit_arrays

    def fetchone(self) -> Any:
        """The next row, or None."""
        with self._damage_as_error():
            return self._db.fetchone()

    def fetchmany(self, size: int) -> Any:
        """The next rows."""
        with self._damage_as_error():
            return self._db.fetchmany(size)

    def fetchall(self) -> Any:
        """All further rows."""
        with self._damage_as_error():
            return self._db.fetchall()

    @property
    def description(self) -> Any:
        """The columns of the last statement, or None."""
        return self._db.description

    def cursor(self) -> Connection:
        """A second connection to the same database."""
        return Connection(self._db.cursor(), self._path, self._config)

    def close(self) -> None:
        """Close it; damage that is met then is told, too."""
        with self._damage_as_error():
            self._db.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
