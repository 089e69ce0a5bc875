"""One construction from the outside: journal, embedded model where asked for, store, run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from construction.funnel import Yield
from construction.llm.cache import ReplyCache
from construction.llm.client import Endpoint
from construction.llm.local import serve
from construction.pipeline import Plan, Progress, Work, construct
from curation.journal import Journal
from curation.maintenance import snapshot
from curation.model_files import EMBEDDED_LABEL, embedded_gguf
from curation.store import Store
from schemas.config import Options

SNAPSHOT_SECONDS = 30.0


class Session(Options):
    """Where a construction reads and writes, and which model it asks.

    Attributes:
        store: The DuckDB file; made if absent.
        journal: The replies on record; made if absent.
        snapshot: Copy of the store, renewed by the writer as it works; readers look at it instead of the locked store.
        embedded: Start the embedded model and ask it; ``base_url`` and the key are then not used.
    """

    store: Path
    journal: Path
    model: str
    base_url: str | None = None
    key_name: str = "OPENAI_API_KEY"
    concurrency: int = 8
    embedded: bool = False
    retry_failed: bool = False
    fsync: bool = False
    snapshot: Path | None = None


def run(
    session: Session, work: Work, plan: Plan, *, origin: str, progress: Callable[[Progress], None] = lambda _: None
) -> Yield:
    """Construct; on any error what is finished stays in journal and store, and the embedded model is stopped.

    Raises:
        UserError: store or journal in use, no key, endpoint away, embedded model not installed.
    """
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(session.journal, write=True, fsync=session.fsync))
        store = stack.enter_context(Store.open(session.store, create=True))
        model, base_url, key_name = session.model, session.base_url, session.key_name
        if session.embedded:
            model, key_name = EMBEDDED_LABEL, "SCEDIT_NO_KEY"
            base_url = stack.enter_context(serve(embedded_gguf(), slots=session.concurrency))
        endpoint = Endpoint(model=model, base_url=base_url, key_name=key_name, concurrency=session.concurrency)
        cache = ReplyCache(journal, retry_failed=session.retry_failed)
        told = _copying(store, session.snapshot, progress) if session.snapshot else progress
        work_ = construct(work, store=store, endpoint=endpoint, cache=cache, plan=plan, origin=origin, progress=told)
        result = asyncio.run(work_)
        if session.snapshot:
            snapshot(store, session.snapshot)
        return result


def _copying(store: Store, path: Path, progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Progress that also renews the snapshot, at most twice a minute; it is told between two transactions."""
    last = float("-inf")

    def tell(now: Progress) -> None:
        nonlocal last
        progress(now)
        if time.monotonic() - last > SNAPSHOT_SECONDS:
            snapshot(store, path)
            last = time.monotonic()

    return tell
