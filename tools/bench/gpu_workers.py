# Contenders on the GPU that take turns: ours as a process each time, each peer as one that stays
# for all workloads. A peer that is missing or fails is told, and the bench goes on.
import json
import os
import selectors
import subprocess
import tempfile
import time

import contenders
import rounds

HERE = contenders.HERE
MEASURE_LIMIT_SECONDS = 60
PROBE = """
import json, sys
found = {"python": sys.version.split()[0], "prefix": sys.prefix}
for name in ("torch", "jax"):
    try:
        module = __import__(name)
        found[name] = module.__version__
        sees = module.cuda.is_available() if name == "torch" else \\
            any(d.platform == "gpu" for d in module.devices())
        if not sees:
            found[name + "_error"] = "it sees no GPU"
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == name
        found[name + "_error"] = None if missing else f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


class Worker:
    """A peer's process, started when first asked; a new one after it has died or was given up."""

    def __init__(self, name, command, cache):
        self.name, self.command = name, command
        # Caches of its own: what it compiled in another bench does not count as a first run.
        self.env = {"PYTHONDONTWRITEBYTECODE": "1", "TORCHINDUCTOR_CACHE_DIR": cache + "/inductor",
                    "TRITON_CACHE_DIR": cache + "/triton"}
        self.process = self.errors = None
        self.unread = b""

    def begin(self):
        """Starts loading, without waiting for it."""
        if self.process:
            return
        self.errors, self.unread = tempfile.TemporaryFile("w+"), b""
        try:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                env={**os.environ, **self.env}, start_new_session=True)
        except OSError as error:
            raise rounds.Failed(f"cannot start {self.command[0]}: {error.strerror}") from error

    def line(self, limit_seconds):
        """The next line that is a JSON object, or Failed. A library may print others."""
        end = time.monotonic() + limit_seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                line, newline, rest = self.unread.partition(b"\n")
                if newline:
                    self.unread = rest
                    if line.startswith(b"{"):
                        return json.loads(line)
                    continue
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise rounds.Failed(f"took longer than {limit_seconds:g} s")
                part = os.read(self.process.stdout.fileno(), 65536)
                if not part:
                    self.errors.seek(0)
                    raise rounds.Failed(rounds.why(self.process.wait(), self.errors.read()))
                self.unread += part

    def ask(self, request, limit_seconds):
        try:
            if not self.process:
                self.begin()
            try:
                self.process.stdin.write(json.dumps(request).encode() + b"\n")
                self.process.stdin.flush()
            except OSError:
                pass  # it died: line() says why
            answer = self.line(limit_seconds)
            while answer == {"loaded": True}:
                answer = self.line(limit_seconds)
            return answer
        except rounds.Failed:
            self.close()
            raise

    def build(self, workload, limit_seconds):
        facts = self.ask({"build": [workload.peer, workload.precision, workload.row]},
                         limit_seconds)
        if not facts["ready"]:
            raise rounds.Failed("; ".join(f"{n}: {why}" for n, why in facts["failed"].items()))
        return facts

    def measure(self, seconds):
        return self.ask({"measure": seconds}, MEASURE_LIMIT_SECONDS + 10 * seconds)

    def close(self):
        if self.process:
            rounds.end_group(self.process)
            self.errors.close()
        self.process = None


def find_peers(given):
    """{"torch": facts, "jax": facts} of the newest that see a GPU, and lines about the rest."""
    contenders.PROBE = PROBE
    found, peers, lines = contenders.interpreters(given), {}, []
    for name in ("torch", "jax"):
        with_it = [f for f in found if name in f and not f.get(name + "_error")]
        if with_it:
            peers[name] = max(with_it, key=lambda f: contenders.version_key(f[name]))
        else:
            whys = [f[name + "_error"] for f in found if f.get(name + "_error")]
            lines.append(f"{name}: " + (whys[0] if whys else "not found"))
    return peers, lines


def workers(peers, options, cache):
    """A worker for each peer, and whether it runs a workload."""
    out = []
    if "torch" in peers:
        extra = [str(options.peers)] if options.peers else []
        command = [peers["torch"]["command"], str(HERE / "gpu_peer_torch.py"), *extra]
        out.append((Worker("torch " + peers["torch"]["torch"], command, cache), lambda w: True))
    if "jax" in peers:
        command = [peers["jax"]["command"], str(HERE / "gpu_peer_jax.py")]
        out.append((Worker("jax " + peers["jax"]["jax"], command, cache), lambda w: w.jax))
    return out


def ours(workload, options, seconds, env=None, tuned=False):
    """One `plait bench`, its JSON with the seconds that the process took; or Failed."""
    command = [options.plait, "bench", workload.model, "--backend", "cuda", "--json",
               "--row", str(workload.row), *workload.flags, *options.ours]
    if tuned and workload.tuned and "--measure" not in options.ours:
        command.append("--measure")
    begin = time.monotonic()
    try:
        done = subprocess.run([*command, "--seconds", f"{seconds:g}"], capture_output=True,
                              text=True, timeout=options.compile_limit + 10 * seconds,
                              env={**os.environ, **(env or {})}, check=False)
    except subprocess.TimeoutExpired as error:
        raise rounds.Failed(f"took longer than {error.timeout:g} s") from error
    if done.returncode != 0:
        raise rounds.Failed(rounds.why(done.returncode, done.stderr))
    return {**rounds.parse(done.stdout), "process_seconds": round(time.monotonic() - begin, 3)}


def first_runs(workload, options):
    """Ours with an empty cache, not tuned, then with what that left."""
    with tempfile.TemporaryDirectory() as cache:
        env = {"PLAIT_CACHE": cache, "CUDA_CACHE_PATH": cache + "/driver"}
        cold = ours(workload, options, options.least_seconds, env)
        warm = ours(workload, options, options.least_seconds, env)
    return {"cold": cold, "cached": warm}
