# Who runs: ours and the peers found on this machine, each as a command line with its environment.
import json
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
EAGER_LIMIT_SECONDS = 180
PATIENCE = 10  # warm-up and slow calls, in units of --seconds
PROBE_SECONDS = 120
PROBE = """
import json, os, sys
found = {"python": sys.version.split()[0], "prefix": sys.prefix}
for name in ("torch", "onnxruntime"):
    try:
        found[name] = __import__(name).__version__
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == name
        found[name + "_error"] = None if missing else f"{type(error).__name__}: {error}"
found["compile"] = "torch" in found and hasattr(sys.modules["torch"], "compile")
print(json.dumps(found))
"""


@dataclass
class Contender:
    name: str          # "plait", "torch 2.11.0 eager"
    mode: str          # "ours", "eager", "compile", "ort"
    command: list
    limit_seconds: float
    guess_seconds: float   # for the time left, until one run is known
    env: dict = field(default_factory=dict)


def probe(python):
    """What the interpreter has, or None when it does not start."""
    try:
        done = subprocess.run([python, "-c", PROBE], capture_output=True, text=True,
                              timeout=PROBE_SECONDS, check=True)
        return {**json.loads(done.stdout.splitlines()[-1]), "command": python}
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def interpreters(given):
    """The interpreters given, or this one and every python3 on the PATH; each environment once."""
    if given:
        found = [(path, probe(path)) for path in given]
        for path, facts in found:
            if not facts:
                raise ValueError(f"--python {path}: does not run")
        return [facts for _, facts in found]
    folders = dict.fromkeys(os.path.realpath(folder) for folder in os.get_exec_path())
    paths = [sys.executable] + [os.path.join(folder, "python3") for folder in folders]
    found = [probe(path) for path in dict.fromkeys(paths) if path and os.access(path, os.X_OK)]
    return list({facts["prefix"]: facts for facts in reversed(found) if facts}.values())


def version_key(version):
    return [int(part) if part.isdigit() else 0 for part in version.split("+")[0].split(".")]


def peer_environment(facts, has, cores):
    """Variables without which a comparison is void on processors the libraries misjudge."""
    env = {"OMP_NUM_THREADS": str(cores), "PYTHONDONTWRITEBYTECODE": "1"}
    if has["avx512"]:
        env["OPENBLAS_CORETYPE"] = "SkylakeX"  # else OpenBLAS 0.3.21 takes it for an old one
    if has["amx_bf16"] and version_key(facts["torch"])[0] < 2:
        env["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"  # oneDNN 2.6 dies in its AMX path
    return {name: value for name, value in env.items() if name not in os.environ}


@dataclass
class Peers:
    torch: list
    ort: list
    lines: list  # what was not found, for the reader


def find_peers(given, use_compile):
    found = interpreters(given)
    torch = [f for f in found if "torch" in f]
    ort = [f for f in torch if "onnxruntime" in f]
    lines = [f"{f['command']}: {name} does not load: {f[name + '_error']}"
             for f in found for name in ("torch", "onnxruntime") if f.get(name + "_error")]
    if not given:  # the newest alone
        torch = sorted(torch, key=lambda f: version_key(f["torch"]))[-1:]
        ort = sorted(ort, key=lambda f: version_key(f["onnxruntime"]))[-1:]
    if not torch:
        lines.append("PyTorch: not found")
    elif not use_compile:
        lines.append("torch.compile: left out (--no-compile)")
    lines += [f"torch.compile: PyTorch {f['torch']} has none"
              for f in torch if use_compile and not f["compile"]]
    if not ort:
        alone = any("onnxruntime" in f for f in found)
        lines.append("ONNX Runtime: " + ("found, but no PyTorch beside it to export a model from"
                                         if alone else "not found"))
    return Peers(torch, ort, lines)


def plait_version(program):
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True,
                              timeout=PROBE_SECONDS, check=True)
        return done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def ours(workload, options):
    command = [options.plait, "bench", workload.model, "--json",
               "--seconds", f"{options.seconds:g}", "--threads", str(options.cores)]
    limit = options.compile_limit + PATIENCE * options.seconds
    return Contender("plait", "ours", command, limit, options.seconds + 5)


def contenders(workload, peers, options, has):
    """Ours first, then every peer that runs this workload."""
    seconds, cores = f"{options.seconds:g}", str(options.cores)
    patience = PATIENCE * options.seconds
    listed = [ours(workload, options)]
    for facts in peers.torch:
        env = peer_environment(facts, has, options.cores)
        script = [facts["command"], str(HERE / "peer_torch.py"), workload.peer, workload.dtype]
        name = "torch " + facts["torch"]
        listed.append(Contender(name + " eager", "eager", [*script, "eager", seconds, cores],
                                EAGER_LIMIT_SECONDS + patience, options.seconds + 10, env))
        if facts["compile"] and options.compile:
            listed.append(Contender(name + " compile", "compile",
                                    [*script, "compile", seconds, cores],
                                    options.compile_limit + patience, options.seconds + 40, env))
    for facts in peers.ort if workload.ort else []:
        command = [facts["command"], str(HERE / "peer_ort.py"), workload.peer, seconds, cores]
        listed.append(Contender("onnxruntime " + facts["onnxruntime"], "ort", command,
                                EAGER_LIMIT_SECONDS + patience, options.seconds + 15,
                                peer_environment(facts, has, options.cores)))
    return listed
