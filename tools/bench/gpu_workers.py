# Contenders on the GPU that take turns: ours as a process each time, peers as processes that stay.
# A peer that is missing or fails is told, and the bench goes on.
import json
import os
import selectors
import subprocess
import tempfile
import time

import contenders
import rounds

HERE = contenders.HERE
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
    """A peer's process: built once, then asked for a measurement as often as wanted."""

    def __init__(self, name, command, env, limit_seconds):
        self.name, self.errors = name, tempfile.TemporaryFile("w+")
        self.limit_seconds, self.unread = limit_seconds, b""
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                env={**os.environ, **env}, start_new_session=True)
        except OSError as error:
            raise rounds.Failed(f"cannot start {command[0]}: {error.strerror}") from error

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

    def prepare(self):
        facts = self.line(self.limit_seconds)
        if not facts["ready"]:
            raise rounds.Failed("; ".join(f"{n}: {why}" for n, why in facts["failed"].items()))
        return facts

    def measure(self, seconds):
        try:
            self.process.stdin.write(f"{seconds:g}\n".encode())
            self.process.stdin.flush()
        except OSError:
            pass  # it died: line() says why
        return self.line(self.limit_seconds)

    def close(self):
        rounds.end_group(self.process)
        self.errors.close()


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


def start(workload, peers, options):
    """A worker for each peer that runs the workload; {name: (worker or None, facts or why)}."""
    commands = {}
    row, precision = str(workload.row), workload.precision
    if "torch" in peers:
        extra = [str(options.peers)] if options.peers else []
        commands["torch " + peers["torch"]["torch"]] = [
            peers["torch"]["command"], str(HERE / "gpu_peer_torch.py"), workload.peer, precision,
            row, *extra]
    if "jax" in peers and workload.jax:
        commands["jax " + peers["jax"]["jax"]] = [
            peers["jax"]["command"], str(HERE / "gpu_peer_jax.py"), workload.peer, precision, row]
    started = {}
    for name, command in commands.items():
        worker = None
        try:
            worker = Worker(name, command, {"PYTHONDONTWRITEBYTECODE": "1"}, options.compile_limit)
            started[name] = (worker, worker.prepare())
        except rounds.Failed as failure:
            if worker:
                worker.close()
            started[name] = (None, str(failure))
    return started


def ours(workload, options, seconds, env=None):
    """One `plait bench`, its JSON with the seconds that the process took; or Failed."""
    command = [options.plait, "bench", workload.model, "--backend", "cuda", "--json",
               "--row", str(workload.row), *workload.flags, *options.ours]
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
    """Ours with an empty cache, then with what that left: seconds of the whole process."""
    with tempfile.TemporaryDirectory() as cache:
        env = {"PLAIT_CACHE": cache, "CUDA_CACHE_PATH": cache + "/driver"}
        cold = ours(workload, options, options.least_seconds, env)
        warm = ours(workload, options, options.least_seconds, env)
    return {"cold": cold, "cached": warm}
