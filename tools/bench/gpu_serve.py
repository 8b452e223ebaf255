# The peers' side of a bench on the GPU: a process that builds its forms once, then times all of
# them each time a line comes in, so that contenders can take turns without compiling again.
import json
import os
import statistics
import sys
import time

WARM_CALLS = 3
LEAST_CALLS = 5


def answers():
    """Where JSON lines go; whatever else prints to stdout goes to stderr."""
    kept = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return kept


def first_line(error):
    text = (str(error).strip() or "no message").splitlines()[0][:300]
    return f"{type(error).__name__}: {text}"


def prepared(make):
    """name -> (call, runs in a call) of the forms that run, and why the others do not."""
    forms, failed = {}, {}
    for name, build in make.items():
        try:
            call, runs = build()
            call()
            forms[name] = (call, runs)
        except Exception as error:  # whatever it is, the bench wants one line about it
            failed[name] = first_line(error)
    return forms, failed


def measured(call, runs, seconds, clock):
    """clock(call) gives the seconds of one call. A run of those in it: the median."""
    for _ in range(WARM_CALLS):
        clock(call)
    times, started = [], time.perf_counter()
    while len(times) < LEAST_CALLS or time.perf_counter() - started < seconds:
        times.append(clock(call) / runs)
    return {"median_ms": statistics.median(times) * 1e3, "min_ms": min(times) * 1e3,
            "runs": len(times) * runs}


def serve(make, clock, about):
    """make(): name -> function that returns (call, runs). about(): facts, asked when ready."""
    out = answers()
    started = time.perf_counter()
    forms, failed = prepared(make())
    ready = {"ready": bool(forms), "failed": failed, "forms": list(forms),
             "prepare_seconds": round(time.perf_counter() - started, 2), **about()}
    print(json.dumps(ready), file=out)
    for line in sys.stdin:
        seconds = float(line) / max(1, len(forms))
        results = {name: measured(call, runs, seconds, clock)
                   for name, (call, runs) in forms.items()}
        best = min(results, key=lambda name: results[name]["median_ms"])
        print(json.dumps({**results[best], "form": best, "forms":
                          {name: r["median_ms"] for name, r in results.items()}}), file=out)
