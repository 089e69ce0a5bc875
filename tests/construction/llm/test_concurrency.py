"""Many coroutines at once: order, a bound on what is ahead, and nothing left running when one of them fails."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from construction.llm.client import gather_all, ordered_map


class Worker:
    """Counts what is at work; a number above 99 fails."""

    def __init__(self):
        self.now = self.most = self.begun = self.stopped = 0

    async def work(self, number, seconds=0.0):
        self.begun += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(seconds)
            if number > 99:
                raise ValueError(number)
            return number
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        finally:
            self.now -= 1


def test_results_stand_in_order_whoever_is_first():
    worker = Worker()
    results = asyncio.run(gather_all([worker.work(n, 0.02 * (3 - n)) for n in range(3)]))
    assert results == [0, 1, 2] and worker.most == 3
    assert asyncio.run(gather_all([])) == []


def test_one_failure_stops_the_others_and_waits_until_they_are_gone():
    worker = Worker()

    async def main():
        with pytest.raises(ValueError, match="100"):
            await gather_all([worker.work(1, 30), worker.work(100), worker.work(2, 30)])
        return worker.now, len(asyncio.all_tasks())

    assert asyncio.run(main()) == (0, 1) and worker.stopped == 2


def test_a_cancelled_gathering_cancels_its_work():
    worker = Worker()

    async def main():
        task = asyncio.create_task(gather_all([worker.work(n, 30) for n in range(3)]))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return worker.now

    assert asyncio.run(main()) == 0 and worker.stopped == 3


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_only_so_many_are_ahead_of_the_one_that_is_waited_for(ahead):
    worker = Worker()

    async def main():
        items = []
        async for number in ordered_map([lambda n=n: worker.work(n, 0.005) for n in range(8)], ahead=ahead):
            items.append(number)
            assert worker.begun <= len(items) + ahead
        return items

    assert asyncio.run(main()) == list(range(8)) and worker.most == ahead + 1


@pytest.mark.parametrize("leave", ["an error", "the reader goes"])
def test_nothing_runs_on_after_the_end(leave):
    """A fault in one, or a reader that stops: those in the making are stopped, later ones never begin."""
    worker = Worker()
    numbers = [1, 100 if leave == "an error" else 2, 3, 4, 5, 6]

    async def main():
        async def read():
            async with aclosing(
                ordered_map([lambda n=n: worker.work(n, n / 1000) for n in numbers], ahead=2)
            ) as stream:
                async for number in stream:
                    if leave == "the reader goes" and number == 1:
                        return

        if leave == "an error":
            with pytest.raises(ValueError, match="100"):
                await read()
        else:
            await read()
        return worker.now, len(asyncio.all_tasks())

    assert asyncio.run(main()) == (0, 1) and worker.begun < 6
