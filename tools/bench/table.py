# The bench's findings: who was fastest, by how much, target met or not; as data and as a table.
import statistics

TITLES = ("workload", "ours ms", "best peer", "its ms", "faster by", "at least", "reach for", "met")
RIGHT = {1, 3, 4, 5, 6}


def judge(workload, results):
    """The row of a workload: ours against the best peer, and against the target's peer."""
    ours = results["plait"].get("median_ms")
    peers = {name: r["median_ms"] for name, r in results.items()
             if name != "plait" and "median_ms" in r}
    named = [name for name in peers if results[name]["mode"] == workload.against]
    best = min(peers, key=peers.get, default=None)
    target = min(named if workload.against else peers, key=peers.get, default=None)
    row = {"workload": workload.name, "model": workload.model, "dtype": workload.dtype,
           "ours_ms": ours, "best_peer": best, "best_peer_ms": peers.get(best),
           "ratio": peers[best] / ours if ours and best else None,
           "at_least": workload.at_least, "reach_for": workload.reach_for,
           "target_peer": target, "target_ratio": None, "met": None}
    if ours and target:
        row["target_ratio"] = peers[target] / ours
        row["met"] = ("reached" if row["target_ratio"] >= workload.reach_for else
                      "yes" if row["target_ratio"] >= workload.at_least else "no")
    return {**row, "results": results}


def number(value):
    return "-" if value is None else f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def times(value):
    return "-" if value is None else f"{value:.3g}x" if value < 100 else f"{value:.0f}x"


def cells(row):
    met = row["met"] or "-"
    if row["met"] and row["target_peer"] != row["best_peer"]:
        met += f" ({times(row['target_ratio'])} {row['target_peer']})"
    ours = "failed" if row["ours_ms"] is None else number(row["ours_ms"])
    return (row["workload"], ours, row["best_peer"] or "none", number(row["best_peer_ms"]),
            times(row["ratio"]), times(row["at_least"]), times(row["reach_for"]), met)


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(TITLES))]
    return ["  ".join(cell.rjust(width) if i in RIGHT else cell.ljust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in rows]


def machine_lines(machine, settings):
    has = ", ".join(name for name, present in machine["has"].items() if present) or "no AVX2"
    lines = [f"{machine['cpu']} ({has}), cpus {','.join(map(str, machine['pinned_to']))}; "
             f"rounds: {settings['rounds']} of {settings['seconds']:g} s, medians of medians"]
    if machine["threads_of_one_core"]:
        first, second = machine["threads_of_one_core"]
        lines.append(f"note: cpus {first} and {second} are hardware threads of one core")
    return lines


def others(row):
    """The peers that were not the best, and every contender that failed."""
    lines = []
    for name, result in row["results"].items():
        text = None
        if result["failed"]:
            text = "failed: " + result["failed"]
            if result["rounds"]:
                text += f" (after {len(result['rounds'])} rounds)"
        elif name not in ("plait", row["best_peer"]):
            ratio = result["median_ms"] / row["ours_ms"] if row["ours_ms"] else None
            text = f"{number(result['median_ms'])} ms, {times(ratio)}"
        if text:
            lines.append(f"  {row['workload']:<15} {name}: {text}")
    return lines


def warnings(rows):
    lines = []
    for row in rows:
        for name, result in row["results"].items():
            if any(one.get("blas") == "reference" for one in result["rounds"]):
                lines.append(f"note: {name} multiplies by the reference BLAS, which is slow: "
                             "install OpenBLAS (Debian: libopenblas0-pthread)")
            if result.get("spread", 0) > 0.25:
                lines.append(f"note: {row['workload']}: the rounds of {name} differ by "
                             f"{result['spread']:.0%}")
    shares = [one["others_share"] for row in rows for result in row["results"].values()
              for one in result["rounds"]]
    if shares and max(shares) > 0.05:
        lines.append(f"note: other processes took up to {max(shares):.0%} of these cpus' time "
                     f"(median {statistics.median(shares):.0%}): measure again on a quiet machine")
    return list(dict.fromkeys(lines))


def text(report):
    rows = report["workloads"]
    lines = machine_lines(report["machine"], report["settings"])
    lines += ["", *aligned([TITLES, *map(cells, rows)])]
    rest = [line for row in rows for line in others(row)]
    if rest:
        lines += ["", "others:", *rest]
    notes = [*("not run: " + line for line in report["not_run"]), *warnings(rows)]
    return "\n".join(lines + ([""] + notes if notes else []))
