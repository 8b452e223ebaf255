# The GPU bench's findings: ours against the best peer and against the targets, as data and as text.
import statistics

TITLES = ("workload", "ours ms", "best peer", "its ms", "faster by", "at most", "reach for", "met",
          "TFLOP/s", "MB", "its MB", "cold s", "cached s", "its first s")
LEFT = {0, 2, 7}


def met(value, at_most, reach_for):
    if not value or not at_most:
        return None
    return "reached" if value <= reach_for else "yes" if value <= at_most else "no"


def medians(results):
    """Adds the median over the rounds to each contender's results."""
    for result in results.values():
        found = [one["median_ms"] for one in result["rounds"]]
        if found:
            result["median_ms"] = statistics.median(found)
            result["spread"] = (max(found) - min(found)) / result["median_ms"]


def judge(workload, results, first, tuned):
    medians(results)
    ours = results["plait"].get("median_ms")
    peers = {name: r["median_ms"] for name, r in results.items()
             if name != "plait" and "median_ms" in r}
    best = min(peers, key=peers.get, default=None)
    row = {"workload": workload.name, "model": workload.model, "row": workload.row,
           "tuned": tuned, "ours_ms": ours, "best_peer": best, "best_peer_ms": peers.get(best),
           "ratio": peers[best] / ours if ours and best else None,
           "at_most_ms": workload.at_most_ms, "reach_for_ms": workload.reach_for_ms,
           "met": met(ours, workload.at_most_ms, workload.reach_for_ms),
           "first_runs": first, "results": results}
    if best:
        form = results[best]["rounds"][-1]["form"]
        row["best_form"] = form
        row["best_peer_bytes"] = results[best]["facts"].get("peak_bytes", {}).get(form)
        row["best_peer_first_s"] = results[best]["facts"].get("first_seconds", {}).get(form)
    if ours:
        last = results["plait"]["rounds"][-1]
        row["tflops"] = last["operations"] / ours * 1e-9
        row["ours_bytes"] = sum(last[k] for k in ("states_bytes", "arena_bytes", "scratch_bytes"))
        row["met_bytes"] = met(row["ours_bytes"], workload.at_most_bytes, workload.reach_for_bytes)
    return row


def number(value, scale=1.0):
    return "-" if value is None else f"{value * scale:.4g}"


def cells(row):
    peer = f"{row['best_peer']}, {row['best_form']}" if row["best_peer"] else "none"
    first = row["first_runs"] or {}
    verdict = row["met"] or "-"
    if row.get("met_bytes"):
        verdict += f"; memory {row['met_bytes']}"
    return (row["workload"] + ("*" if row["tuned"] else ""), "failed" if row["ours_ms"] is None else number(row["ours_ms"]), peer,
            number(row["best_peer_ms"]), "-" if row["ratio"] is None else f"{row['ratio']:.3g}x",
            number(row["at_most_ms"]), number(row["reach_for_ms"]), verdict,
            number(row.get("tflops")), number(row.get("ours_bytes"), 1e-6),
            number(row.get("best_peer_bytes"), 1e-6),
            *(number(first[k]["ready_seconds"]) if k in first else "-"
              for k in ("cold", "cached")), number(row.get("best_peer_first_s")))


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(TITLES))]
    return ["  ".join(cell.ljust(width) if i in LEFT else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in rows]


def others(row):
    lines = []
    for name, result in row["results"].items():
        for form, why in result.get("facts", {}).get("failed", {}).items():
            lines.append(f"  {row['workload']:<14} {name}, {form}: failed: {why}")
        if result["failed"]:
            lines.append(f"  {row['workload']:<14} {name}: failed: {result['failed']}")
        elif name != "plait" and result["rounds"]:
            forms = result["rounds"][-1]["forms"]
            first = result["facts"].get("first_seconds", {})
            text = "; ".join(f"{form} {number(ms)} (first run after {number(first.get(form))} s)"
                             for form, ms in forms.items())
            lines.append(f"  {row['workload']:<14} {name}: {text}")
        if result.get("spread", 0) > 0.25:
            lines.append(f"  {row['workload']:<14} {name}: rounds differ by {result['spread']:.0%}")
    return lines


def text(report):
    rows = report["workloads"]
    settings = report["settings"]
    lines = [f"{report['gpu']}; rounds: {settings['rounds']} of {settings['seconds']:g} s, medians "
             "of medians; ms per run", "", *aligned([TITLES, *map(cells, rows)])]
    rest = [line for row in rows for line in others(row)]
    if rest:
        lines += ["", "all forms of the peers, ms, last round:", *rest]
    notes = ["not run: " + line for line in report["not_run"]]
    if any(row["tuned"] for row in rows):
        notes.append("*: our contractions picked by measuring (--measure); cold and cached without")
    if any(name.startswith("jax") for row in rows for name in row["results"]):
        notes.append("jax: timed by the host's clock, to completion; all else by the device's")
    return "\n".join(lines + ([""] + notes if notes else []))
