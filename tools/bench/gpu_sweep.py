#!/usr/bin/env python3
"""Time per sample over batch sizes that no benchmark names, on the GPU.

Every network, inference and training, at every size, from the smallest on. What fails: a program
that does not run, and a time per sample that is more than a fifth above that of the next smaller
size that ran (--rise). A size that the plan says does not fit is left out, with its exact bytes,
and so are the larger ones. Where time per sample rises, the slowest steps of both sizes are shown.
`plait bench` takes first guesses here, as a user's program does; --measure tunes.

Needs build/plait (make) and a GPU: without one it says so and exits 0. All of it takes about a
quarter of an hour; --models, --modes, --batches and --budget-seconds take a part.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave no caches beside the sources
import bench
import gpu_bench

ROOT = bench.ROOT
BATCHES = (1, 2, 3, 5, 8, 13, 16, 31, 32, 48, 64, 96, 128, 192, 256)
# By network: keys of inference, keys of training.
MODELS = {
    "resnet50": ("dtype=f16", "train=1&precision=bf16&momentum=0.9"),
    "vgg19": ("dtype=f16", "train=1&precision=bf16&optimizer=sgd"),
    "unet": ("dtype=f16", "train=1&precision=bf16&optimizer=adam"),
    "rwkv4": ("dtype=f16", "train=1&precision=bf16&optimizer=adam"),
    "gpt2": ("dtype=f16", "train=1&precision=bf16&optimizer=adamw"),
}
MODES = ("infer", "train")
SHOWN = 5  # steps of a size whose time rose


def listed(known, kind=str):
    def parse(text):
        items = [kind(item) for item in text.split(",") if item]
        if not items or (known and any(item not in known for item in items)):
            raise ValueError
        return items
    parse.__name__ = "list of " + (", ".join(known) if known else "sizes")
    return parse


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="exit code: 0 all ran and none rose, 1 otherwise (what the budget left out is named "
               "and does not count), 2 wrong usage")
    add = parser.add_argument
    add("--models", type=listed(MODELS), default=list(MODELS), metavar="NAME,..",
        help=", ".join(MODELS))
    add("--modes", type=listed(MODES), default=list(MODES), metavar="MODE,..",
        help="infer, train or both (both)")
    add("--batches", type=listed((), int), default=list(BATCHES), metavar="N,..",
        help="sizes (" + ", ".join(map(str, BATCHES)) + ")")
    add("--seconds", type=bench.positive(float), default=0.3, metavar="S",
        help="timed runs of a size (0.3)")
    add("--budget-seconds", type=bench.positive(float), default=1e5, metavar="S",
        help="begin no size after this time")
    add("--limit", type=bench.positive(float), default=120, metavar="S",
        help="longest wait for a size (120)")
    add("--rise", type=bench.positive(float), default=0.2, metavar="PART",
        help="how much more time per sample a size may take than the one before it (0.2)")
    add("--measure", action="store_true", help="tune contractions")
    add("--plait", default=str(ROOT / "build" / "plait"), metavar="PATH",
        help="our program (build/plait)")
    add("--json", type=pathlib.Path, default=ROOT / "build" / "gpu_sweep.json", metavar="FILE",
        help="every number as JSON (build/gpu_sweep.json)")
    add("--self-test", action="store_true", help="try this tool on a program that is played")
    options = parser.parse_args()
    options.batches = sorted(set(options.batches))
    if options.batches[0] < 1:
        parser.error("--batches: sizes are 1 and more")
    return parser, options


class Failed(Exception):
    """The program's last line."""


class Plait:
    """The program's commands on one network and size, as JSON."""

    def __init__(self, options, free_bytes):
        self.options, self.free_bytes = options, free_bytes

    def ask(self, command, model, *flags):
        words = [self.options.plait, command, model, "--backend", "cuda", "--fp32", "tf32",
                 "--json", *flags, *(["--measure"] if self.options.measure else [])]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False,
                                  timeout=self.options.limit)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{command} did not end within {self.options.limit:g} s") from late
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or ["nothing on standard error"]
            raise Failed(f"exit {done.returncode}: {said[-1]}")
        return json.loads(done.stdout)

    def bench(self, model):
        return self.ask("bench", model, "--seconds", f"{self.options.seconds:g}")

    def too_large(self, model):
        """The plan's peak where that is more than the device has; None where it fits."""
        peak = self.ask("plan", model)["peak_bytes"]
        return peak if peak > self.free_bytes else None

    def slowest(self, model):
        try:
            steps = self.ask("profile", model, "--seconds", "0.2")["slowest_steps"][:SHOWN]
        except Failed as failure:
            return [f"no profile: {failure}"]
        return [", ".join(f"{key} {value}" for key, value in step.items()
                          if key in ("step", "name", "node", "kernel", "kind", "ms", "share_of_peak"))
                for step in steps]


def model_name(name, mode, batch):
    return f"model:{name}?batch={batch}&{MODELS[name][MODES.index(mode)]}"


class Sweep:
    """Results, row by row as they come; `bad` are the lines that make it fail."""

    def __init__(self, plait, options):
        self.plait, self.options = plait, options
        self.rows, self.bad, self.left = [], [], []
        self.end = time.monotonic() + options.budget_seconds

    def line(self, name, mode, batch, text):
        print(f"{name:9} {mode:6} {batch:5}  {text}", flush=True)

    def series(self, name, mode):
        """One network's sizes, smallest first."""
        before = None
        for i, batch in enumerate(self.options.batches):
            if time.monotonic() > self.end:
                self.left.append(f"{name} {mode} from {batch} on")
                return
            model = model_name(name, mode, batch)
            row = {"model": name, "mode": mode, "batch": batch, "file": model}
            began = time.monotonic()
            try:
                took = self.plait.bench(model)
            except Failed as failure:
                if self.does_not_fit(row, failure):
                    row["left_out"] = self.options.batches[i:]
                    self.rows.append(row)
                    return
                continue
            row["ms"] = took["median_ms"]
            row["us_per_sample"] = 1e3 * took["median_ms"] / batch
            row["peak_bytes"] = took["states_bytes"] + took["arena_bytes"] + took["scratch_bytes"]
            row["ready_seconds"] = took["ready_seconds"]
            row["seconds"] = time.monotonic() - began
            self.rows.append(row)
            self.judge(row, before)
            before = row

    def does_not_fit(self, row, failure):
        """Whether that is why it failed; otherwise it counts as failed."""
        where = row["model"], row["mode"], row["batch"]
        try:
            peak = self.plait.too_large(row["file"])
        except Failed:
            peak = None
        if peak is not None:
            self.line(*where, f"does not fit: {peak:,} bytes planned, {self.plait.free_bytes:,} "
                              "free; larger ones neither")
            row["peak_bytes"] = peak
            return True
        row["failed"] = str(failure)
        self.rows.append(row)
        self.line(*where, f"FAILED {failure}")
        self.bad.append(f"{row['file']}: {failure}")
        return False

    def judge(self, row, before):
        rise = row["us_per_sample"] / before["us_per_sample"] - 1 if before else 0
        rose = rise > self.options.rise
        change = f"{100 * rise:+7.1f}%" if before else " " * 8
        self.line(row["model"], row["mode"], row["batch"],
                  f"{row['ms']:10.4f} ms {row['us_per_sample']:11.3f} us/sample {change} "
                  f"{row['peak_bytes'] / 1e6:10.1f} MB  ready {row['ready_seconds']:6.2f} s  "
                  f"took {row['seconds']:5.1f} s{'  ROSE' if rose else ''}")
        if not rose:
            return
        self.bad.append(f"{row['file']}: {row['us_per_sample']:.3f} us per sample, "
                        f"{before['us_per_sample']:.3f} at batch {before['batch']}")
        for shown in (before, row):
            shown["slowest"] = self.plait.slowest(shown["file"])
            for step in shown["slowest"]:
                print(f"    batch {shown['batch']}: {step}", flush=True)

    def run(self):
        for mode in self.options.modes:
            for name in self.options.models:
                self.series(name, mode)
                report = {"rows": self.rows, "bad": self.bad, "left": self.left}
                bench.write(report, self.options.json)
        ran = sum("ms" in row for row in self.rows)
        print(f"{ran} sizes ran; {len(self.bad)} failed or rose by more than "
              f"{100 * self.options.rise:g}%")
        for line in self.bad:
            print("  " + line)
        if self.left:
            print("the budget left out: " + "; ".join(self.left))
        return 1 if self.bad or not ran else 0


def free_bytes():
    done = subprocess.run(["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout.split()[0]) << 20


PLAYED = """#!/usr/bin/env python3
import json, re, sys
command, model = sys.argv[1:3]
batch = int(re.search(r"batch=(\\d+)", model)[1])
if command == "plan":
    print(json.dumps({"peak_bytes": batch * 1000}))
elif command == "profile":
    print(json.dumps({"slowest_steps": [{"name": "%slow", "kernel": "k", "ms": 1.0}]}))
elif batch > 16 or (batch == 5 and "train=1" in model):
    sys.exit("no")
else:
    print(json.dumps({"median_ms": (3 if batch == 8 else 1) * batch, "states_bytes": 1,
                      "arena_bytes": 1, "scratch_bytes": 1, "ready_seconds": 0.1}))
"""


def self_test(options):
    """A size that is three times as slow, one that fails, and those from 31 on too large."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "plait"
        program.write_text(PLAYED, encoding="utf-8")
        program.chmod(0o755)
        options.plait, options.json = str(program), pathlib.Path(folder) / "sweep.json"
        options.models, options.modes, options.batches = ["unet"], list(MODES), list(BATCHES)
        sweep = Sweep(Plait(options, 20000), options)
        assert sweep.run() == 1
        assert [line.split(":")[1][:26] for line in sweep.bad] == \
            ["unet?batch=8&dtype=f16", "unet?batch=5&train=1&preci", "unet?batch=8&train=1&preci"], \
            sweep.bad
        assert "exit 1: no" in sweep.bad[1], sweep.bad
        assert [row["left_out"][0] for row in sweep.rows if "left_out" in row] == [31, 31]
        options.batches = [1, 2, 3, 13, 16]
        assert Sweep(Plait(options, 20000), options).run() == 0
        options.budget_seconds = 1e-9
        hurried = Sweep(Plait(options, 20000), options)
        assert hurried.run() == 1 and len(hurried.left) == 2, "nothing ran"


def main():
    parser, options = arguments()
    if options.self_test:
        return self_test(options)
    if gpu_bench.gpu_count() == 0:
        print("gpu-sweep: skipped, there is no GPU on this machine")
        return None
    if not os.access(options.plait, os.X_OK):
        parser.error(f"no program at {options.plait}: run make, or give --plait PATH")
    free = free_bytes()
    print(f"{gpu_bench.gpu_facts()}; {free:,} bytes free", flush=True)
    return Sweep(Plait(options, free), options).run()


if __name__ == "__main__":
    sys.exit(main())
