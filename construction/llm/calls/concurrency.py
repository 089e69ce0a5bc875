"""Many coroutines at once: all together, or in order with some ahead."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def gather_all(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Results of coroutines in their order; when one fails the others are stopped and waited for."""
    tasks = [asyncio.ensure_future(w) for w in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        await _stop(tasks)
        raise


async def ordered_map(work: Iterable[Callable[[], Coroutine[Any, Any, T]]], *, ahead: int) -> AsyncGenerator[T, None]:
    """Results one after the other, while up to ``ahead`` later ones are in the making already.

    So nobody waits for the slowest call of a batch: the next batch's calls fill the free places. When one fails or the
    reader stops (close the iterator), the others are stopped and waited for.

    Args:
        work: Makes the coroutines, each when its turn comes.
        ahead: How many beyond the one that is waited for; 0 is one after the other.
    """
    tasks: deque[asyncio.Task[T]] = deque()
    try:
        for make in work:
            tasks.append(asyncio.create_task(make()))
            if len(tasks) > ahead:
                yield await tasks[0]
                tasks.popleft()
        while tasks:
            yield await tasks[0]
            tasks.popleft()
    finally:
        await _stop(list(tasks))


async def _stop(tasks: Sequence[asyncio.Task[T]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
