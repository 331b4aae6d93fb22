"""Fuzzing in processes of their own: one that dies or hangs is a failure of the program it was at, and is replaced."""

from __future__ import annotations

import gc
import multiprocessing
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from adjit.testing.fuzz import Outcome, Settings, outcomes, save, uncompiled

_DONE = "done"
_TIRED = "tired"


def work(settings: Settings, out: Any) -> None:
    """Run `_work`; nobody minds that nobody listens any more."""
    with suppress(BrokenPipeError):
        _work(settings, out)


def _work(settings: Settings, out: Any) -> None:
    """Send every outcome of these settings, each with the next seed, and at last `_DONE`.

    Or `_TIRED`, with the rest left for another process.
    """
    warnings.simplefilter("ignore")  # Numba's advice about speed
    # A program's IR dies with the program: collections in between only cost time.
    gc.freeze()
    gc.set_threshold(1_000_000, 20, 100)
    out.send((settings.seed, None))
    life = settings.lifetime
    left = settings.count is None or settings.count > life
    done = 0
    for outcome in outcomes(replace(settings, count=life) if left else settings):
        done += 1
        out.send((outcome.seed + settings.step, outcome))
    out.send((_TIRED if left and done == life else _DONE, None))


@dataclass
class _Worker:
    """A process, and the end of its own pipe: one that dies in the middle of a word leaves no other one waiting."""

    process: BaseProcess
    pipe: Any
    settings: Settings
    at: int
    heard: float
    done: bool = False
    tired: bool = False


class Workers:
    """`jobs` processes that share out the seeds; iterate for their outcomes as they come."""

    def __init__(self, settings: Settings, jobs: int):
        self._settings, self._jobs = settings, jobs
        self._context = multiprocessing.get_context("spawn")
        self._end = time.monotonic() + settings.seconds
        self._patience = 3 * settings.limit + 2 * settings.shrink_seconds

    def __iter__(self) -> Iterator[Outcome]:
        count = self._settings.count
        workers: dict[int, _Worker] = {}
        for k in range(self._jobs):
            share = None if count is None else len(range(k, count, self._jobs))
            own = replace(
                self._settings,
                seed=self._settings.seed + k * self._settings.step,
                step=self._settings.step * self._jobs,
                count=share,
            )
            workers[k] = self._start(own)
        try:
            while not all(worker.done for worker in workers.values()):
                yield from self._heard(workers)
                for k, worker in workers.items():
                    if worker.tired:
                        workers[k] = self._restart(worker, worker.at)
                        continue
                    fault = self._fault(worker)
                    if fault is not None:
                        yield self._failure(worker, fault)
                        workers[k] = self._restart(worker, worker.at + worker.settings.step)
        finally:
            for worker in workers.values():
                _end(worker)

    def _start(self, settings: Settings) -> _Worker:
        own, other = self._context.Pipe(duplex=False)
        process = self._context.Process(target=work, args=(settings, other), daemon=True)
        with uncompiled(not settings.compiled):  # what the child inherits
            process.start()
        other.close()
        return _Worker(process, own, settings, settings.seed, time.monotonic())

    @staticmethod
    def _heard(workers: dict[int, _Worker]) -> Iterator[Outcome]:
        """What the processes say, after a short wait."""
        talking = {w.pipe: w for w in workers.values() if not (w.done or w.tired or w.pipe.closed)}
        for pipe in wait(list(talking), timeout=1.0):
            worker = talking[pipe]
            try:
                at, outcome = worker.pipe.recv()
            except (EOFError, OSError):  # it is gone
                worker.process.join(10)
                worker.pipe.close()
                continue
            worker.heard = time.monotonic()
            if at in (_DONE, _TIRED):
                worker.done, worker.tired = at == _DONE, at == _TIRED
                continue
            worker.at = at
            if outcome is not None:
                yield outcome

    def _fault(self, worker: _Worker) -> str | None:
        """What is wrong with a process, if anything is."""
        if worker.done:
            return None
        if worker.process.exitcode is not None:
            return f"process died with {worker.process.exitcode}"
        silent = time.monotonic() - worker.heard > self._patience
        return "hang" if silent else None

    def _failure(self, worker: _Worker, fault: str) -> Outcome:
        program = self._settings.program(worker.at)
        return Outcome(worker.at, fault, fault, save(program, fault, fault, worker.settings))

    def _restart(self, worker: _Worker, seed: int) -> _Worker:
        """A new process for what is left from that seed on."""
        _end(worker)
        gone = (seed - worker.settings.seed) // worker.settings.step
        left = None if worker.settings.count is None else max(0, worker.settings.count - gone)
        seconds = max(0.0, self._end - time.monotonic())
        return self._start(replace(worker.settings, seed=seed, count=left, seconds=seconds))


def _end(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.pipe.close()
