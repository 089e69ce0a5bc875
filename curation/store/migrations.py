"""How the store's tables came to be: a list of short functions, applied in order, numbered by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb

from curation.store.origins import fill_origins

APPLICATION = "scedit-store"
READABLE = {"m001_initial", "m002_views"}
"""What a store needs so that it can be read without a migration."""


def m001_initial(db: duckdb.DuckDBPyConnection) -> None:
    """Records, their lineage, runs and their results."""
    db.execute("CREATE SEQUENCE record_seq")
    db.execute(
        """CREATE TABLE records (
             seq BIGINT DEFAULT nextval('record_seq'),
             id VARCHAR PRIMARY KEY,
             kind VARCHAR NOT NULL,
             key VARCHAR NOT NULL,
             parent VARCHAR,
             current BOOLEAN NOT NULL,
             body VARCHAR NOT NULL)"""
    )
    db.execute("CREATE INDEX records_key ON records (key)")
    db.execute(
        """CREATE TABLE lineage (
             item_id VARCHAR NOT NULL, stage VARCHAR NOT NULL, made_at VARCHAR NOT NULL,
             model VARCHAR, prompt VARCHAR, request VARCHAR,
             tokens_in BIGINT, tokens_out BIGINT, cost DOUBLE, body VARCHAR NOT NULL)"""
    )
    db.execute("CREATE INDEX lineage_item ON lineage (item_id)")
    db.execute(
        """CREATE TABLE splits (
             name VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, header VARCHAR NOT NULL)"""
    )
    db.execute(
        """CREATE TABLE split_cases (
             split VARCHAR NOT NULL, position BIGINT NOT NULL, case_id VARCHAR NOT NULL)"""
    )
    db.execute(
        """CREATE TABLE results (
             run VARCHAR NOT NULL, case_key VARCHAR NOT NULL, body VARCHAR NOT NULL, PRIMARY KEY (run, case_key))"""
    )


def m002_views(db: duckdb.DuckDBPyConnection) -> None:
    """Views to read the store with plain SQL."""
    db.execute(
        """CREATE VIEW facts AS SELECT key, id, body->>'$.subject.text' AS subject, body->>'$.relation.id' AS relation,
             body->>'$.old.text' AS old, body->>'$.new.text' AS new, body->>'$.change' AS change,
             body->>'$.changed_on' AS changed_on, body->>'$.source.name' AS source
           FROM records WHERE kind = 'fact' AND current"""
    )
    db.execute(
        """CREATE VIEW questions AS SELECT key, id, parent AS fact, body->>'$.text' AS text
           FROM records WHERE kind = 'question' AND current"""
    )
    db.execute(
        """CREATE VIEW scripts AS SELECT key, id, parent AS question, body->'$.steps' AS steps
           FROM records WHERE kind = 'script' AND current"""
    )
    db.execute(
        """CREATE VIEW prompts AS SELECT key, id, parent AS fact, body->>'$.text' AS text,
             CAST(body->>'$.step' AS INTEGER) AS step, CAST(body->>'$.offset' AS INTEGER) AS "offset",
             body->>'$.separator' AS separator, body->'$.targets' AS targets
           FROM records WHERE kind = 'prompt' AND current"""
    )
    db.execute(
        """CREATE VIEW neighbours AS SELECT key, id, parent AS edit, body->>'$.fact' AS fact, body->>'$.how' AS how,
             CAST(body->>'$.distance' AS DOUBLE) AS distance
           FROM records WHERE kind = 'neighbour' AND current"""
    )
    db.execute(
        """CREATE VIEW verdicts AS SELECT key, id, parent AS item_id, body->>'$.by' AS by, body->>'$.label' AS label,
             body->>'$.reason' AS reason, CAST(body->>'$.value' AS DOUBLE) AS value, body->>'$.unit' AS unit,
             body->>'$.model' AS model
           FROM records WHERE kind = 'verdict' AND current"""
    )


def m003_plain_tables(db: duckdb.DuckDBPyConnection) -> None:
    """Records and lineage without indexes: DuckDB must hold an index whole in memory when it commits.

    A look-up by id or key scans a column instead (some milliseconds at a million records); the store's one writer
    keeps ids unique.
    """
    db.execute("DROP INDEX IF EXISTS records_key")
    db.execute("DROP INDEX IF EXISTS lineage_item")
    db.execute("ALTER TABLE records RENAME TO records_before")
    db.execute(
        """CREATE TABLE records (
             seq BIGINT DEFAULT nextval('record_seq'),
             id VARCHAR NOT NULL,
             kind VARCHAR NOT NULL,
             key VARCHAR NOT NULL,
             parent VARCHAR,
             current BOOLEAN NOT NULL,
             body VARCHAR NOT NULL)"""
    )
    db.execute("INSERT INTO records SELECT seq, id, kind, key, parent, current, body FROM records_before ORDER BY seq")
    db.execute("DROP TABLE records_before")


def m004_origins(db: duckdb.DuckDBPyConnection) -> None:
    """What each derived record was made from, by content."""
    db.execute("CREATE TABLE origins (item VARCHAR NOT NULL, origin VARCHAR NOT NULL)")
    fill_origins(db)


MIGRATIONS: list[Callable[[Any], None]] = [m001_initial, m002_views, m003_plain_tables, m004_origins]


def apply(db: Any, *, done: set[str]) -> list[str]:
    """Apply what is not done yet, each in a transaction of its own; returns the names applied."""
    applied = []
    for step in MIGRATIONS:
        if step.__name__ in done:
            continue
        db.execute("BEGIN")
        try:
            step(db)
            db.execute("INSERT INTO migrations VALUES (?, now())", [step.__name__])
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
        applied.append(step.__name__)
    return applied
