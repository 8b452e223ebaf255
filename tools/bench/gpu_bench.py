#!/usr/bin/env python3
"""Every workload on the GPU, ours against the peers installed (PyTorch and JAX), in one call.

Each peer is one process; a workload is compiled there once, then all take turns for some rounds,
and the median of the rounds' medians counts. The table says how many times as fast as the best
peer ours is, and whether the targets in milliseconds are met: "at most" (yes) and "reach for"
(reached); they are set for an H200. Times are the device's, of one run in a launch or replay, or of
one in a row of them. Ours is tuned (--measure) where the name has a star; --no-tune leaves that
out. "cold" and "cached" are the seconds of ours from the start to the end of a first run, driver
and context included, not tuned, the first with an empty cache; "its first" is the peer's from a
network to the end of a first run, without loading the library. RWKV-4's wkv in PyTorch is a Triton
kernel of ours, or its author's (--peers).

Peers are looked for in this interpreter and in every python3 on the PATH; --python names others.
Needs build/plait (make) and a GPU: without one it says so and exits 0. Installs nothing.
"""
import argparse
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave no caches beside the sources
import bench
import contenders
import gpu_table
import gpu_workers
import gpu_workloads
import rounds

ROOT = bench.ROOT


def gpu_count():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def gpu_facts():
    query = "--query-gpu=name,driver_version,clocks.sm,power.limit,memory.total"
    try:
        done = subprocess.run(["nvidia-smi", query, "--format=csv,noheader"], capture_output=True,
                              text=True, timeout=60, check=True)
        return done.stdout.strip().splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "a GPU"


def arguments():
    names = ", ".join(w.name for w in gpu_workloads.WORKLOADS)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"workloads: {names}\nexit code: 0 done, 1 ours failed, 2 wrong usage, 130 stopped")
    add = parser.add_argument
    add("--only", metavar="NAME,..", help="these workloads, by name or the peers' (mlp)")
    add("--rounds", type=bench.positive(int), default=3, help="turns of every contender (3)")
    add("--seconds", type=bench.positive(float), default=0.6, metavar="S",
        help="timed runs of a contender in a round (0.6)")
    add("--minutes", type=bench.positive(float), default=7, metavar="M",
        help="workloads that begin later are ours alone (7)")
    add("--no-peers", action="store_true", help="ours alone")
    add("--no-first", dest="first", action="store_false", help="leave the cold and cached runs out")
    add("--no-tune", dest="tune", action="store_false", help="ours with its first guesses")
    add("--without", action="append", default=[], choices=("torch", "jax"),
        help="leave a peer out; repeatable")
    add("--peers", type=pathlib.Path, metavar="DIR",
        help="a folder with the wkv kernel of RWKV-4's author (wkv_op.cpp, wkv_cuda.cu)")
    add("--compile-limit", type=bench.positive(float), default=120, metavar="S",
        help="longest wait for a contender (120)")
    add("--ours", action="append", default=[], metavar="FLAG",
        help="a further flag of `plait bench`, as in --ours=--measure; repeatable")
    add("--plait", default=str(ROOT / "build" / "plait"), metavar="PATH",
        help="our program (build/plait)")
    add("--python", action="append", metavar="PATH", help="an interpreter with peers; repeatable")
    add("--json", type=pathlib.Path, default=ROOT / "build" / "gpu_bench.json", metavar="FILE",
        help="every number as JSON (build/gpu_bench.json)")
    options = parser.parse_args()
    options.least_seconds = 0.02
    return parser, options


def tell(text):
    print(text, file=sys.stderr, flush=True)


def turn(results, name, measure):
    """One measurement; a contender that fails is not asked again."""
    if results[name]["failed"]:
        return
    try:
        results[name]["rounds"].append(measure())
    except rounds.Failed as failure:
        results[name]["failed"] = str(failure)


def built(workload, workers, options, results):
    """The workers that have the workload ready; why the others have not goes to the results."""
    ready = []
    for worker in workers:
        results[worker.name] = {"rounds": [], "failed": None, "facts": {}}
        try:
            tell(f"{workload.name}: {worker.name} prepares")
            results[worker.name]["facts"] = worker.build(workload, options.compile_limit)
            ready.append(worker)
        except rounds.Failed as failure:
            results[worker.name]["failed"] = str(failure)
    return ready


def one_workload(workload, workers, options):
    results, first = {"plait": {"rounds": [], "failed": None}}, None
    ready = built(workload, workers, options, results)
    if options.first:
        tell(f"{workload.name}: first runs")
        try:
            first = gpu_workers.first_runs(workload, options)
        except rounds.Failed as failure:
            tell(f"{workload.name}: first runs failed: {failure}")
    for number in range(options.rounds):
        tell(f"{workload.name}: round {number + 1} of {options.rounds}")
        turn(results, "plait", lambda: gpu_workers.ours(
            workload, options, options.seconds, tuned=options.tune))
        for worker in ready:
            turn(results, worker.name, lambda w=worker: w.measure(options.seconds))
    return gpu_table.judge(workload, results, first, options.tune and workload.tuned)


def all_workloads(chosen, workers, options, report):
    """One after another into the report, which is written each time."""
    for worker, _ in workers:
        worker.begin()
    end = time.monotonic() + 60 * options.minutes
    for workload in chosen:
        late = time.monotonic() > end
        if late and workers:
            report["not_run"].append(f"{workload.name}: peers, after {options.minutes:g} minutes")
        mine = [] if late else [worker for worker, runs in workers if runs(workload)]
        report["workloads"].append(one_workload(workload, mine, options))
        bench.write(report, options.json)


def stop(*_):
    raise KeyboardInterrupt


def main():
    parser, options = arguments()
    try:
        chosen = gpu_workloads.chosen(options.only)
        if options.peers and not options.peers.is_dir():
            raise ValueError(f"--peers {options.peers}: no such folder")
    except ValueError as error:
        parser.error(str(error))
    if gpu_count() == 0:
        print("gpu-bench: skipped, there is no GPU on this machine")
        return
    if not os.access(options.plait, os.X_OK):
        parser.error(f"no program at {options.plait}: run make, or give --plait PATH")
    tell("looking for peers")
    try:
        peers, lines = ({}, ["peers: left out (--no-peers)"]) if options.no_peers else \
            gpu_workers.find_peers(options.python)
    except ValueError as error:
        parser.error(str(error))
    for name in options.without:
        if peers.pop(name, None):
            lines.append(f"{name}: left out (--without)")
    report = {"gpu": gpu_facts(), "settings": {"rounds": options.rounds,
                                               "seconds": options.seconds, "ours": options.ours,
                                               "tune": options.tune},
              "versions": {"plait": contenders.plait_version(options.plait),
                           **{name: facts[name] for name, facts in peers.items()}},
              "not_run": lines, "workloads": []}
    stopped = False
    signal.signal(signal.SIGTERM, stop)
    with tempfile.TemporaryDirectory() as cache:
        workers = gpu_workers.workers(peers, options, cache)
        try:
            all_workloads(chosen, workers, options, report)
        except KeyboardInterrupt:
            stopped = True
        finally:
            for worker, _ in workers:
                worker.close()
    print(gpu_table.text(report))
    if stopped:
        tell("stopped: the table holds the workloads that were done")
        sys.exit(bench.STOPPED)
    failed = [r["workload"] for r in report["workloads"] if r["results"]["plait"]["failed"]]
    if failed:
        sys.exit("ours failed: " + ", ".join(failed))


if __name__ == "__main__":
    main()
