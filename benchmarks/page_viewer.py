"""Somebody who looks at the pages of a scheduler at work: `python benchmarks/page_viewer.py PORT TOKEN`.

Reads the stream of events, and asks each second what the overview and the heat map ask, six questions at a time. A line
on stdout says that it is let in. Started by `stream.py`.
"""

from __future__ import annotations

import asyncio
import sys
import time

import aiohttp

API = "/fairway/api/v1"
ASKED = ("runs", "runs/live/metrics", "runs/live/waiting", "runs/live/heat/cpu/0/0/0/0?order=name")
CURVES = ("utilisation", "waiting", "decisions?by=outcome", "refusals?by=plugin")


async def look(port: int, token: str) -> None:
    """Until it is ended."""
    connector = aiohttp.TCPConnector(ssl=False, limit=6)
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(f"https://127.0.0.1:{port}", headers=headers, connector=connector) as session:
        async with session.get(f"{API}/runs") as answer:
            answer.raise_for_status()
        print("looking", flush=True)
        reading = asyncio.create_task(read(session))
        while not reading.done():
            began = time.monotonic()
            paths = [*ASKED, *(f"runs/live/curves/{name}" for name in CURVES)]
            await asyncio.gather(*(ask(session, path) for path in paths))
            await asyncio.sleep(max(0.0, began + 1.0 - time.monotonic()))
        reading.result()


async def read(session: aiohttp.ClientSession) -> None:
    """The stream."""
    async with session.get(f"{API}/stream", timeout=aiohttp.ClientTimeout()) as answer:
        answer.raise_for_status()
        async for _ in answer.content.iter_any():
            pass


async def ask(session: aiohttp.ClientSession, path: str) -> None:
    """What is there may be nothing yet."""
    async with session.get(f"{API}/{path}") as answer:
        await answer.read()


if __name__ == "__main__":
    asyncio.run(look(int(sys.argv[1]), sys.argv[2]))
