# How the peers are timed: warm-up, then single calls until the time is up; the median counts.
import statistics
import time

WARM_CALLS = 3
WARM_SECONDS = 0.3
LEAST_CALLS = 3
PATIENCE = 4  # a call longer than the time given: fewer calls, not hours


def measure(call, seconds):
    """Times call() for about `seconds`; the first call (compilation) is reported apart."""
    started = time.perf_counter()
    call()
    first_seconds = time.perf_counter() - started
    started, warm = time.perf_counter(), 0
    while warm < WARM_CALLS or time.perf_counter() - started < WARM_SECONDS:
        call()
        warm += 1
        if time.perf_counter() - started > seconds:
            break
    times, started = [], time.perf_counter()
    while True:
        begin = time.perf_counter()
        call()
        end = time.perf_counter()
        times.append(end - begin)
        limit = seconds if len(times) >= LEAST_CALLS else PATIENCE * seconds
        if end - started >= limit:
            break
    return {"median_ms": statistics.median(times) * 1e3, "min_ms": min(times) * 1e3,
            "runs": len(times), "first_seconds": round(first_seconds, 3)}


def best_form(forms, seconds):
    """forms: name -> call. Times each and returns the fastest, the medians of all beside it."""
    measured = {name: measure(call, seconds) for name, call in forms.items()}
    best = min(measured, key=lambda name: measured[name]["median_ms"])
    return {**measured[best], "form": best,
            "forms": {name: result["median_ms"] for name, result in measured.items()}}
