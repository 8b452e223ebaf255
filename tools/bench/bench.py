#!/usr/bin/env python3
"""Every workload, ours against the peers installed (PyTorch eager and compile, ONNX Runtime).

Each contender is a process of its own, pinned to the same cpus; they take turns for some rounds,
and the median of the rounds' medians counts. The table says how many times as fast as the best
peer ours is, and whether the target is met: "at least" (yes) and "reach for" (reached). Targets
are set for two cores with AVX-512 and AMX against PyTorch 2.11 and ONNX Runtime 1.30; elsewhere
read them as a hint. A peer that is missing or fails is a line below the table.

Peers are looked for in this interpreter and in every python3 on the PATH, and the newest is
taken; --python names others (repeat it to compare several PyTorch versions).
Needs build/plait (make); the standard library is enough for this file.
"""
import argparse
import json
import os
import pathlib
import signal
import sys

sys.dont_write_bytecode = True  # leave no caches beside the sources
import contenders
import machine
import rounds
import table
import workloads

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROUNDS, SECONDS = 5, 3.0
STOPPED = 130
QUICK_ROUNDS, QUICK_SECONDS = 2, 1.0


def positive(kind):
    def parse(text):
        value = kind(text)
        if not 0 < value < 1e6:
            raise ValueError
        return value
    parse.__name__ = "positive " + kind.__name__
    return parse


def arguments():
    names = ", ".join(w.name for w in workloads.WORKLOADS)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"workloads: {names}\nexit code: 0 done, 1 ours failed, 2 wrong usage, 130 stopped")
    add = parser.add_argument
    add("--only", metavar="NAME,..", help="these workloads, by name or without dtype (conv_add)")
    add("--rounds", type=positive(int), help=f"turns of every contender (default {ROUNDS})")
    add("--seconds", type=positive(float), metavar="S",
        help=f"timed runs in a process, after warm-up (default {SECONDS:g})")
    add("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds of {QUICK_SECONDS:g} s")
    add("--cores", type=positive(int), default=2, metavar="N",
        help="pin to the first N cpus allowed, with as many threads (default 2)")
    add("--no-compile", dest="compile", action="store_false", help="leave torch.compile out")
    add("--compile-limit", type=positive(float), default=180, metavar="S",
        help="longest compilation waited for, theirs and ours (default 180)")
    add("--plait", default=str(ROOT / "build" / "plait"), metavar="PATH",
        help="our program (default build/plait)")
    add("--python", action="append", metavar="PATH", help="an interpreter with peers; repeatable")
    add("--json", type=pathlib.Path, default=ROOT / "build" / "bench.json", metavar="FILE",
        help="every number as JSON (default build/bench.json)")
    options = parser.parse_args()
    options.rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    options.seconds = options.seconds or (QUICK_SECONDS if options.quick else SECONDS)
    return parser, options


def write(report, path):
    """After every workload: an interrupted bench keeps what it has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    os.replace(part, path)


def measure(chosen, peers, options, report):
    """Fills report["workloads"], one after the other."""
    cpus, has = report["machine"]["pinned_to"], report["machine"]["has"]
    listed = {w: contenders.contenders(w, peers, options, has) for w in chosen}
    progress = rounds.Progress({(w.name, c.name, i): c.guess_seconds for w, found in listed.items()
                                for c in found for i in range(options.rounds)})
    try:
        for workload, found in listed.items():
            results = rounds.run_rounds(workload, found, options, cpus, progress)
            for contender in found:
                results[contender.name].update(command=contender.command, env=contender.env)
            report["workloads"].append(table.judge(workload, results))
            write(report, options.json)
    finally:
        progress.close()


def interrupt(_number, _frame):
    raise KeyboardInterrupt


def main():
    parser, options = arguments()
    try:
        chosen = workloads.chosen(options.only)
        cpus = machine.pinned_cpus(options.cores)
        if not os.access(options.plait, os.X_OK):
            raise ValueError(f"no program at {options.plait}: run make, or give --plait PATH")
        print("looking for peers", file=sys.stderr)
        peers = contenders.find_peers(options.python, options.compile)
    except ValueError as error:
        parser.error(str(error))
    settings = {"rounds": options.rounds, "seconds": options.seconds, "cores": options.cores,
                "compile_limit": options.compile_limit}
    report = {"machine": machine.describe(cpus), "settings": settings,
              "versions": {"plait": contenders.plait_version(options.plait),
                           "torch": [f["torch"] for f in peers.torch],
                           "onnxruntime": [f["onnxruntime"] for f in peers.ort]},
              "not_run": peers.lines, "workloads": []}
    signal.signal(signal.SIGTERM, interrupt)
    stopped = False
    try:
        measure(chosen, peers, options, report)
    except KeyboardInterrupt:
        stopped = True
    print(table.text(report))
    if stopped:
        print("stopped: the table holds the workloads that were done", file=sys.stderr)
        sys.exit(STOPPED)
    failed = [row["workload"] for row in report["workloads"]
              if row["results"]["plait"]["failed"]]
    if failed:
        sys.exit("ours failed: " + ", ".join(failed))


if __name__ == "__main__":
    main()
