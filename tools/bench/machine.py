# The machine as the bench records it: processor, instruction sets that matter, the cpus used.
import os
import platform

SETS = {"avx2": "avx2", "avx512": "avx512f", "avx512_bf16": "avx512_bf16",
        "avx512_fp16": "avx512_fp16", "amx_bf16": "amx_bf16"}  # ours -> /proc/cpuinfo's


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def cpuinfo(key):
    for line in read("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def pinned_cpus(cores):
    """The first `cores` cpus this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    if cores > len(allowed):
        raise ValueError(f"--cores {cores}: this process may use {len(allowed)} cpus")
    return allowed[:cores]


def shared_core(cpus):
    """Two of the cpus that are one core's hardware threads, or None."""
    for cpu in cpus:
        path = f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        siblings = set()
        for part in read(path).strip().split(","):
            first, _, last = part.partition("-")
            if first.isdigit():
                siblings.update(range(int(first), int(last or first) + 1))
        twin = siblings & set(cpus) - {cpu}
        if twin:
            return cpu, min(twin)
    return None


def busy_seconds(cpus):
    """Processor time spent on these cpus since the machine started, by anyone."""
    ticks = 0
    for line in read("/proc/stat").splitlines():
        name, *counts = line.split() or [""]
        if name in {f"cpu{cpu}" for cpu in cpus}:
            user, nice, system, _idle, _wait, irq, softirq, stolen = map(int, counts[:8])
            ticks += user + nice + system + irq + softirq + stolen
    return ticks / os.sysconf("SC_CLK_TCK")


def describe(cpus):
    flags = set(cpuinfo("flags").split())
    return {"cpu": cpuinfo("model name") or platform.machine(),
            "has": {name: flag in flags for name, flag in SETS.items()},
            "cpus_of_machine": os.cpu_count(), "pinned_to": cpus,
            "threads_of_one_core": shared_core(cpus), "kernel": platform.release()}
