# The peers' side of a bench on the GPU: one process for all workloads. It answers JSON lines:
#   {"build": [workload, precision, row]}  forms are built and run once, those before are dropped
#   {"measure": seconds}                   all forms are timed, the seconds shared among them
# so that contenders can take turns without compiling again.
import gc
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


def prepared(make, clock):
    """name -> (call, runs in a call) of the forms that run, why the others do not, and the seconds
    from nothing to the end of a first run."""
    forms, failed, seconds = {}, {}, {}
    for name, build in make.items():
        started = time.perf_counter()
        try:
            call, runs = build()
            clock(call)
            forms[name] = (call, runs)
            seconds[name] = round(time.perf_counter() - started, 2)
        except Exception as error:  # whatever it is, the bench wants one line about it
            failed[name] = first_line(error)
    return forms, failed, seconds


def measured(call, runs, seconds, clock):
    """clock(call) gives the seconds of one call. A run of those in it: the median."""
    for _ in range(WARM_CALLS):
        clock(call)
    times, started = [], time.perf_counter()
    while len(times) < LEAST_CALLS or time.perf_counter() - started < seconds:
        times.append(clock(call) / runs)
    return {"median_ms": statistics.median(times) * 1e3, "min_ms": min(times) * 1e3,
            "runs": len(times) * runs}


def measured_all(forms, seconds, clock):
    share = seconds / max(1, len(forms))
    results = {name: measured(call, runs, share, clock) for name, (call, runs) in forms.items()}
    best = min(results, key=lambda name: results[name]["median_ms"])
    return {**results[best], "form": best,
            "forms": {name: r["median_ms"] for name, r in results.items()}}


def serve(make, clock, forget, about):
    """make(workload, precision, row): name -> function that returns (call, runs). forget(): gives
    memory back once forms are dropped. about(): facts about the forms just built."""
    out = answers()
    print(json.dumps({"loaded": True}), file=out)
    forms = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if "measure" in asked:
            print(json.dumps(measured_all(forms, asked["measure"], clock)), file=out)
            continue
        forms = {}
        gc.collect()
        forget()
        try:
            forms, failed, seconds = prepared(make(*asked["build"]), clock)
        except Exception as error:  # a network that cannot be made
            failed, seconds = {"all": first_line(error)}, {}
        print(json.dumps({"ready": bool(forms), "failed": failed, "first_seconds": seconds,
                          **about()}), file=out)
