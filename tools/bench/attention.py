#!/usr/bin/env python3
"""Attention alone on the CPU: ours against PyTorch's scaled_dot_product_attention, in turns.

Usage: attention.py [--plait PATH] [--python PATH] [--threads N] [--rounds N] [--seconds S] [T,D ...]

Each row is batch 1 x 12 heads (--batch, --heads) of one length and head size, causal and not, f32
and bf16: ms of the forward and of forward and backward, medians of the rounds' medians, and how
many times as fast ours is. The two sides run as processes of their own, pinned to the same cpus.
PyTorch's backward is that of its flash kernel; its dq, dk, dv are new buffers each time.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SIZES = ["128,64", "1000,64", "1024,32", "1024,64", "1024,80", "1024,128", "4096,64", "4096,128"]

PEER = r"""
import json, statistics, sys, time
import torch
import torch.nn.functional as F
case = json.loads(sys.argv[1])
torch.set_num_threads(case["threads"])
dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[case["dtype"]]
shape = (case["batch"], case["heads"], case["time"], case["depth"])
torch.manual_seed(0)
q, k, v, dy = (torch.rand(shape).mul_(2).sub_(1).to(dtype) for _ in range(4))
if case["backward"]:
    for x in (q, k, v):
        x.requires_grad_()
def run():
    y = F.scaled_dot_product_attention(q, k, v, is_causal=case["causal"])
    if case["backward"]:
        torch.autograd.grad(y, (q, k, v), dy)
with torch.set_grad_enabled(case["backward"]):
    for _ in range(3):
        run()
    times, end = [], time.perf_counter() + case["seconds"]
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
print(statistics.median(times) * 1e3)
"""


def graph_text(case):
    """The attention, and with `backward` its gradient from a dy that is fed."""
    rows = f"{case['dtype']}[{case['batch']},{case['heads']},{case['time']},{case['depth']}]"
    lse = f"f32[{case['batch']},{case['heads']},{case['time']}]"
    attrs = ", causal=true" if case["causal"] else ""
    feeds = ["q", "k", "v"] + (["dy"] if case["backward"] else [])
    lines = ["graph attention("] + [f"    {f}: {rows}{',' * (f != feeds[-1])}" for f in feeds]
    lines[-1] += ") {"
    lines.append(f"  %y, %lse = attention(q, k, v{attrs}) : {rows}, {lse}")
    if case["backward"]:
        lines.append(f"  %dq, %dk, %dv = attention_backward(q, k, v, %y, %lse, dy{attrs})"
                     f" : {rows}, {rows}, {rows}")
        lines.append("  return y = %y, dq = %dq, dk = %dk, dv = %dv")
    else:
        lines.append("  return y = %y")
    return "\n".join(lines + ["}", ""])


def ours(args, case, folder):
    path = pathlib.Path(folder) / "attention.plait"
    path.write_text(graph_text(case))
    command = [args.plait, "bench", str(path), "--threads", str(case["threads"]), "--seconds",
               str(case["seconds"]), "--json"]
    return json.loads(run(args, command))["median_ms"]


def theirs(args, case, _):
    return float(run(args, [args.python, "-c", PEER, json.dumps(case)]))


def run(args, command):
    env = dict(os.environ, OMP_NUM_THREADS=str(args.threads))
    done = subprocess.run(["taskset", "-c", f"0-{args.threads - 1}"] + command, env=env,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--plait", default=str(ROOT / "build" / "plait"))
    add("--python", default=sys.executable, help="one that has PyTorch")
    add("--threads", type=int, default=2)
    add("--rounds", type=int, default=3)
    add("--seconds", type=float, default=0.5)
    add("--batch", type=int, default=1)
    add("--heads", type=int, default=12)
    add("--dtypes", default="f32,bf16")
    add("sizes", nargs="*", default=SIZES, metavar="T,D")
    args = parser.parse_args()
    print(f"{'T':>5} {'D':>4} {'dtype':5} {'causal':6} | {'forward':>9} {'torch':>9} {'faster':>6} |"
          f" {'both':>9} {'torch':>9} {'faster':>6}   ms", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for size in args.sizes:
            time, depth = map(int, size.split(","))
            for dtype in args.dtypes.split(","):
                for causal in (False, True):
                    row = f"{time:5} {depth:4} {dtype:5} {str(causal).lower():6}"
                    for backward in (False, True):
                        case = dict(time=time, depth=depth, dtype=dtype, causal=causal,
                                    backward=backward, batch=args.batch, heads=args.heads,
                                    threads=args.threads, seconds=args.seconds)
                        rounds = [(ours(args, case, folder), theirs(args, case, folder))
                                  for _ in range(args.rounds)]
                        mine, peer = (statistics.median(r) for r in zip(*rounds))
                        row += f" | {mine:9.3f} {peer:9.3f} {peer / mine:5.2f}x"
                    print(row, flush=True)


if __name__ == "__main__":
    main()
