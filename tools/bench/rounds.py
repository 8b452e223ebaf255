# Runs the contenders of a workload in turn, one process each, and keeps every number.
import json
import math
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import machine


class Failed(Exception):
    """A process that gave no number, and why."""


class Progress:
    """One line on stderr: which run of how many, and the time left."""

    def __init__(self, guesses):
        self.left = dict(guesses)  # (workload, contender, round) -> seconds expected
        self.total, self.tty = len(self.left), sys.stderr.isatty()

    def begin(self, workload, contender, round_number):
        seconds = round(sum(self.left.values()))
        done = self.total - len(self.left) + 1
        line = (f"[{done}/{self.total}] {workload} round {round_number + 1}: {contender}"
                f" ... about {seconds // 60}:{seconds % 60:02d} left")
        print(("\r\033[K" + line) if self.tty else line, end="" if self.tty else "\n",
              file=sys.stderr, flush=True)

    def end(self, workload, contender, round_number, seconds):
        self.left.pop((workload, contender, round_number), None)
        for key in self.left:
            if key[:2] == (workload, contender):
                self.left[key] = seconds

    def drop(self, workload, contender):
        """The contender failed: its other runs will not happen."""
        for key in [key for key in self.left if key[:2] == (workload, contender)]:
            del self.left[key]
            self.total -= 1

    def close(self):
        if self.tty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Others:
    """Which share of the cpus' time went to processes that are not ours, since it was made."""

    def __init__(self, cpus):
        self.cpus = cpus
        self.started = (time.monotonic(), *self.spent())

    def spent(self):
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return machine.busy_seconds(self.cpus), own.ru_utime + own.ru_stime

    def share(self):
        wall, busy, own = (now - then for now, then in
                           zip((time.monotonic(), *self.spent()), self.started))
        return min(1.0, max(0.0, busy - own) / (max(wall, 1e-3) * len(self.cpus)))


def end_group(process):
    """Ends the process with all that it started (compilers, workers)."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def parse(text):
    """The JSON object on stdout: all of it, or its last line."""
    for candidate in (text, (text.strip().splitlines() or [""])[-1]):
        try:
            result = json.loads(candidate)
        except ValueError:
            continue
        median = result.get("median_ms") if isinstance(result, dict) else None
        if isinstance(median, (int, float)) and math.isfinite(median) and median > 0:
            return result
    raise Failed("printed no JSON object with a median_ms above 0")


def why(code, errors):
    if code < 0:
        try:
            return f"died of {signal.Signals(-code).name}"
        except ValueError:
            return f"died of signal {-code}"
    lines = errors.strip().splitlines() or ["no message"]
    return f"exit {code}: {lines[-1][:300]}"


def run_once(contender, cpus):
    """One process pinned to the cpus; its JSON, or Failed."""
    command = ["taskset", "-c", ",".join(map(str, cpus)), *contender.command]
    # Files, not pipes: a worker that outlives its parent must not keep us waiting.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       env={**os.environ, **contender.env}, start_new_session=True)
        except OSError as error:
            raise Failed(f"cannot start {command[0]}: {error.strerror}") from error
        try:
            code = process.wait(contender.limit_seconds)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"took longer than {contender.limit_seconds:g} s") from error
        finally:
            end_group(process)
        out.seek(0)
        err.seek(0)
        if code != 0:
            raise Failed(why(code, err.read()))
        return parse(out.read())


def run_rounds(workload, listed, options, cpus, progress):
    """A B C A B C ...: name -> {"rounds": [JSON, ...], "failed": why or None}.

    A contender that fails is not run again; what it gave before stays.
    """
    results = {c.name: {"mode": c.mode, "rounds": [], "failed": None} for c in listed}
    for number in range(options.rounds):
        for contender in listed:
            result = results[contender.name]
            if result["failed"]:
                continue
            progress.begin(workload.name, contender.name, number)
            started, others = time.monotonic(), Others(cpus)
            try:
                once = run_once(contender, cpus)
                result["rounds"].append({**once, "others_share": round(others.share(), 3)})
            except Failed as failure:
                result["failed"] = str(failure)
            progress.end(workload.name, contender.name, number, time.monotonic() - started)
            if result["failed"]:
                progress.drop(workload.name, contender.name)
    for result in results.values():
        medians = [one["median_ms"] for one in result["rounds"]]
        if medians:
            result["median_ms"] = statistics.median(medians)
            result["spread"] = (max(medians) - min(medians)) / result["median_ms"]
    return results
