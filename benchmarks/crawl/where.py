"""A profiler that attributes the CPU time of one process to "rooms", the parts of the code listed in ROOMS.

Three measurements that add up:
1. The kernel's CPU clock of every thread. The threads of the transport (Rust) and of the resolver (C) are own rooms.
2. Every step of every task on the event loop, timed by the main thread's CPU clock. The main thread's time outside of
   all steps is the event loop itself, with its wake-ups and callbacks.
3. Inside the steps, and in Python's other threads: a watcher thread samples their stacks about a thousand times a
   second and weights each sample by the CPU used since the last one. The innermost frame in a room decides.
"""

import asyncio
import contextlib
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Coroutine, Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

SAMPLE_SECONDS: Final = 0.001

ACTIONS: Final = "actions: due, record"

ROOMS: Final = (
    ("transport, our side of it", ("/crawler/transport.py", "/crawler/outcomes.py", "/pyreqwest/")),
    ("visit: sessions, politeness, guards", (
        "/crawler/visit.py", "/crawler/session.py", "/crawler/politeness.py", "/crawler/guards.py",
    )),
    ("resolver, our side of it", ("/aiodns/", "/pycares/")),
    ("lease to pipeline: spider, handler, recorder", ("/crawler/",)),
    ("Scrapy", ("/scrapy/", "/twisted/", "/itemadapter/")),
    ("plan: what next", ("/registry/core/visiting/",)),
    ("verdicts: read, recognise, validate, normalise", ("/registry/core/",)),
    ("database driver (psycopg)", ("/psycopg",)),
    ("SQLAlchemy", ("/sqlalchemy/",)),
    ("store", ("/registry/store/",)),
    (ACTIONS, ("/registry/actions/", "/registry/wiring/")),
    ("aiohttp", ("/aiohttp/", "/aiosignal/", "/yarl/", "/multidict/", "/aiohappyeyeballs/")),
    ("the contestant itself", ("/benchmarks/crawl/contestants/",)),
)  # fmt: skip
"""(Room, parts of file names), tried in this order for the innermost frame, then for its caller, and so on."""

IN_RECORD: Final = "core in record (or off the loop): merge, score, next visit"
LOOP: Final = "event loop: wake-ups, callbacks, waiting for events"
STEPPING: Final = "stepping into tasks, the timing of it included"
OTHER: Final = "other code"


class Where:
    """Profiles from its creation until `stop`. Create it on the main thread, inside the running event loop."""

    def __init__(self) -> None:
        self._samples: dict[int, _Samples] = {}
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="watcher", daemon=True)
        asyncio.get_running_loop().set_task_factory(_timed_task)
        sys.setswitchinterval(SAMPLE_SECONDS / 4)
        self._threads = _threads()
        self._cpu = time.process_time()
        _steps.update(seconds=0.0, count=0)
        self._watcher.start()

    def stop(self) -> dict[str, Any]:
        """Stop, and return `rooms`: all CPU seconds by room; `functions`: the most expensive Python functions."""
        process = time.process_time() - self._cpu
        spent = {thread: now - self._threads.get(thread, 0.0) for thread, now in _threads().items()}
        ended = max(0.0, process - sum(spent.values()))
        main, watcher = threading.main_thread().native_id, self._watcher.native_id
        self._ended.set()
        self._watcher.join()
        asyncio.get_running_loop().set_task_factory(None)
        rooms, functions, watching = defaultdict[str, float](float), defaultdict[str, float](float), 0.0
        for (thread, name), seconds in spent.items():
            if thread == watcher:
                watching = seconds
                continue
            if thread == main:
                rooms[LOOP] = seconds - _steps["seconds"]
                seconds = _steps["seconds"]
            samples = self._samples.get(thread)
            if samples is None or not samples.rooms:
                rooms[f"native thread {name}"] += seconds
                continue
            samples.share_out(seconds, rooms, functions)
        rooms["threads that ended"] = ended
        return {
            "rooms": dict(rooms),
            "functions": dict(sorted(functions.items(), key=lambda item: -item[1])[:40]),
            "watching": watching,
            "steps": _steps["count"],
        }

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            frames = sys._current_frames()
            for thread in threading.enumerate():
                if thread is self._watcher or thread.ident not in frames or thread.native_id is None:
                    continue
                if thread.native_id not in self._samples:
                    self._samples[thread.native_id] = _Samples(thread)
                with contextlib.suppress(OSError):  # the thread has ended meanwhile
                    self._samples[thread.native_id].add(frames[thread.ident])


class _Samples:
    """The samples of one thread."""

    def __init__(self, thread: threading.Thread) -> None:
        self._in_steps = thread is threading.main_thread()
        self._clock = time.pthread_getcpuclockid(thread.ident or 0)
        self._last = time.clock_gettime(self._clock)
        self.rooms: defaultdict[str, float] = defaultdict(float)
        self.functions: defaultdict[str, float] = defaultdict(float)

    def add(self, frame: FrameType) -> None:
        now = time.clock_gettime(self._clock)
        spent, self._last = now - self._last, now
        if spent > 0:
            self._weigh(frame, spent)

    def share_out(self, seconds: float, rooms: defaultdict[str, float], functions: defaultdict[str, float]) -> None:
        total = sum(self.rooms.values())
        for weights, totals in ((self.rooms, rooms), (self.functions, functions)):
            for name, weight in weights.items():
                totals[name] += seconds * weight / total

    def _weigh(self, frame: FrameType, spent: float) -> None:
        innermost, room, recording = frame, None, False
        current: FrameType | None = frame
        while current is not None and current.f_code is not _Timed.send.__code__:
            current_room = _room_of(current.f_code)
            if room is None and current_room is not None:
                innermost, room = current, current_room
            recording = recording or current_room == ACTIONS
            current = current.f_back
        if self._in_steps and current is None:
            return
        if innermost.f_code is _Timed.send.__code__:
            room = STEPPING
        if room in _CORE and (recording or not self._in_steps):
            room = IN_RECORD
        self.rooms[room or OTHER] += spent
        self.functions[f"{_short(innermost.f_code.co_filename)}:{innermost.f_code.co_qualname}"] += spent


_CORE = ("plan: what next", "verdicts: read, recognise, validate, normalise")
_known: dict[CodeType, str | None] = {}


def _room_of(code: CodeType) -> str | None:
    if code not in _known:
        name = code.co_filename
        _known[code] = next((room for room, parts in ROOMS if any(part in name for part in parts)), None)
    return _known[code]


def _short(name: str) -> str:
    return "/".join(Path(name).parts[-2:])


_steps: dict[str, float] = {"seconds": 0.0, "count": 0}


class _Timed(Coroutine[Any, Any, Any]):
    """A coroutine whose steps are timed by the CPU clock of their thread."""

    def __init__(self, inner: Coroutine[Any, Any, Any]) -> None:
        self._inner = inner

    def send(self, value: Any) -> Any:
        started = time.thread_time()
        try:
            return self._inner.send(value)
        finally:
            _steps["seconds"] += time.thread_time() - started
            _steps["count"] += 1

    def throw(self, *error: Any) -> Any:
        return self._inner.throw(*error)

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._inner.__await__()


def _timed_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **kwargs: Any) -> "asyncio.Task[Any]":
    return asyncio.Task(_Timed(coroutine), loop=loop, **kwargs)


def _threads() -> dict[tuple[int, str], float]:
    """Return the CPU seconds of every live thread, by its id and name."""
    seconds = {}
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # the thread has ended meanwhile
            name = (task / "comm").read_text().strip()
            seconds[int(task.name), name] = int((task / "schedstat").read_text().split()[0]) / 1e9
    return seconds
