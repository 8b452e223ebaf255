#!/usr/bin/env python3
"""Predicted beside measured milliseconds of every benched workload, and the worst steps of each.

Usage: predicted.py [--plait PATH] [--backend cpu|cuda] [--only NAMES] [--threads N] [--seconds S]
                    [--steps N]
"""
import argparse
import json
import subprocess
import sys

import gpu_workloads
import workloads


def commands(args):
    """Name and command line of each workload."""
    if args.backend == "cuda":
        for w in gpu_workloads.chosen(args.only):
            yield w.name, [w.model, "--backend", "cuda", *w.flags]
    else:
        for w in workloads.chosen(args.only):
            yield w.name, [w.model, "--threads", str(args.threads)]


def profile(args, words):
    command = [args.plait, "profile", *words, "--seconds", str(args.seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def worst_lines(p, most):
    for s in p["worst_predicted"][:most]:
        ratio = s["predicted_ms"] / s["ms"] if s["ms"] > 0 else 0
        yield (f"    {s['step']:<34.34} {s['kernel']:<34.34} {s['ms']:>9.4f} "
               f"{s['predicted_ms']:>9.4f} {ratio:>6.2f}  {s.get('bound', '')}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plait", default="build/plait")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--steps", type=int, default=10, help="worst steps shown of each")
    args = parser.parse_args()
    print(f"{'workload':<18} {'measured ms':>12} {'predicted ms':>13} {'error':>8}")
    failed = 0
    for name, words in commands(args):
        try:
            p = profile(args, words)
        except RuntimeError as error:
            print(f"{name:<18} {error}")
            failed += 1
            continue
        measured = p["usual_ms"] or p["median_ms"]
        print(f"{name:<18} {measured:>12.4f} {p['predicted_ms']:>13.4f} "
              f"{p['prediction_error_percent']:>+7.1f}%", flush=True)
        for line in worst_lines(p, args.steps):
            print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
