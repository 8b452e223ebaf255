#!/usr/bin/env python3
"""Checks the rooms: who includes whom, how long files are, that each opens with what it is.

Usage: check_rooms.py [ROOT]        exit 1 and one line per violation, or one line of totals
       check_rooms.py --self-test   plants violations in a temporary tree, expects each to be caught
It reads text only: it does not compile, and knows nothing of macros.
"""

import os
import re
import statistics
import sys
import tempfile

ALL = ("*",)
RUNTIME = "backends/runtime.h"
TARGET = "backends/target.h"
CACHE = "codegen/cache.h"

# room -> what it may include besides itself. A room brings along what it may include itself;
# a header (backends/target.h) brings only itself.
ROOMS = {
    "base": (),
    "ir": ("base",),
    "loop": ("base",),
    "program": ("ir", "loop"),
    "ops": ("ir", "loop"),
    "passes": ("ops",),
    "codegen": ("loop",),
    "backends": ("ops", "loop", "codegen", "program"),
    "plan": ("ops", "loop", "program", TARGET),
    "profile": ("base",),
    "dist": ("base",),
    "run": ("plan", "program", "passes", RUNTIME, "backends/backends.h", CACHE, "dist", "profile"),
    "io": ("passes",),
    "report": ("io",),
    "nn": ("passes",),
    "models": ("ops", "nn"),
    "train": ("run", "models", "io"),
    "plait": ("nn", "run", "backends", "models", "io"),
    "viewer": (),
    "cli": ALL,
    # Not rooms: they see every room, and no room but cli sees them.
    "tests": ALL,
    "bench": ALL,
    "fuzz": ALL,
    "tools": ALL,
}

SKIPPED_DIRS = {"build", "out", "shared", "__pycache__"}
CPP = {".h", ".cpp", ".cu", ".cuh"}
# How a comment begins, by suffix; a file with another suffix is not a source file.
COMMENT = {
    **{suffix: r"//|/\*" for suffix in CPP},
    ".js": r"//|/\*",
    ".css": r"/\*",
    ".html": r"<!--",
    ".py": r'#(?!!)|[rR]?"""',
    ".sh": r"#(?!!)",
}
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')
MAX_LINES = 800
WARN_LINES = 500
OPENING_LINES = 5


def allowed(room):
    """What `room` may include, in the table's order, headers last; None when it is everything."""
    found, todo = set(), [room]
    while todo:
        for item in ROOMS[todo.pop()]:
            if item == "*":
                return None
            if item not in found:
                found.add(item)
                if item in ROOMS:
                    todo.append(item)
    return [r for r in ROOMS if r in found] + sorted(f for f in found if f not in ROOMS)


def source_files(root):
    """Paths of all source files below root, relative, with forward slashes, sorted."""
    paths = []
    for folder, dirs, files in os.walk(root):
        dirs[:] = [d for d in dirs if d not in SKIPPED_DIRS and (d[0] != "." or d == ".ci")]
        paths += [
            os.path.relpath(os.path.join(folder, f), root).replace(os.sep, "/")
            for f in files
            if os.path.splitext(f)[1] in COMMENT
        ]
    return sorted(paths)


def included_path(path, quote, name):
    """The included file from the root, or None when it is in no room (a system header)."""
    if name.split("/")[0] in ROOMS and "/" in name:
        return os.path.normpath(name)
    if quote == '"':  # relative to the including file: no way around the table
        beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if beside.split("/")[0] in ROOMS:
            return beside
    return None


def include_errors(path, lines):
    room = path.split("/")[0]
    if room not in ROOMS:
        return
    may = allowed(room)
    if may is None:
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        target = match and included_path(path, *match.groups())
        if not target:
            continue
        other = target.split("/")[0]
        if other != room and other not in may and target not in may:
            listed = ", ".join(may) or "nothing"
            yield (
                f"{path}:{number}: room '{room}' may not include '{target}' "
                f"({room} may include: {listed})"
            )


def opening_errors(path, lines):
    begins = re.compile(r"\s*(?:" + COMMENT[os.path.splitext(path)[1]] + ")")
    if not any(begins.match(line) for line in lines[:OPENING_LINES]):
        yield (
            f"{path}:1: no comment in the first {OPENING_LINES} lines: "
            "say what the file is, and what it is not"
        )


def check(root):
    """Returns (errors, warnings, {path: number of lines})."""
    errors, warnings, lengths = [], [], {}
    for path in source_files(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        lengths[path] = len(lines)
        if len(lines) > MAX_LINES:
            errors.append(f"{path}:{MAX_LINES + 1}: {len(lines)} lines, over {MAX_LINES}: split it")
        elif len(lines) > WARN_LINES:
            warnings.append(f"{path}: warning: {len(lines)} lines, over {WARN_LINES}")
        errors += opening_errors(path, lines)
        if os.path.splitext(path)[1] in CPP:
            errors += include_errors(path, lines)
    return errors, warnings, lengths


def main(root):
    errors, warnings, lengths = check(root)
    for line in warnings + errors:
        print(line)
    if errors:
        print(f"rooms: {len(errors)} violations in {len(lengths)} files")
        return 1
    if not lengths:
        print(f"rooms: no source files below '{root}'")
        return 1
    largest = max(lengths, key=lengths.get)
    print(
        f"rooms: {len(lengths)} files, largest {largest} ({lengths[largest]} lines), "
        f"median {statistics.median_low(lengths.values())} lines"
    )
    return 0


# --- self-test: path -> (text, what the check must say of it; "" for nothing) ---

OPENING = "// A file.\n"


def may_not(path, line, target, may):
    room = path.split("/")[0]
    return f"{path}:{line}: room '{room}' may not include '{target}' ({room} may include: {may})"


PLAN_MAY = "base, ir, loop, program, ops, backends/target.h"
NN_MAY = "base, ir, loop, ops, passes"
RUN_MAY = (
    "base, ir, loop, program, ops, passes, plan, profile, dist, backends/backends.h, backends/runtime.h, "
    "backends/target.h, codegen/cache.h"
)
CASES = {
    # right
    "base/a.h": ("#pragma once\n" + OPENING + "#include <vector>\n", ""),
    "ir/graph.cpp": (OPENING + '#include "base/a.h"\n#include "ir/graph.h"\n', ""),
    "ops/op.h": (OPENING + '#include "base/a.h"\n#include "loop/b.h"\n#include "op.h"\n', ""),
    "plan/place/place.cpp": (OPENING + '#include "backends/target.h"\n', ""),
    "run/walk.cpp": (OPENING + '#include "backends/runtime.h"\n#include "plan/p.h"\n', ""),
    "models/gpt2.cpp": (OPENING + '#include "nn/n.h"\n#include "passes/p.h"\n', ""),
    "plait/plait.h": (OPENING + '#include "nn/n.h"\n#include "run/r.h"\n', ""),
    "train/trainer.cpp": (OPENING + '#include "io/i.h"\n#include "models/m.h"\n', ""),
    "cli/main.cpp": (OPENING + '#include "backends/ref/r.h"\n#include "io/i.h"\n', ""),
    "tests/ir/print_test.cpp": (OPENING + '#include "ops/op.h"\n#include "cli/c.h"\n', ""),
    "tools/run.sh": ("#!/bin/sh\n# Runs.\n", ""),
    "tools/t.py": ('#!/usr/bin/env python3\n"""A tool."""\n', ""),
    "ir/commented.h": (OPENING + '// #include "ops/op.h"\n', ""),
    "ops/at_limit.cpp": (OPENING * MAX_LINES, "WARNING"),
    "build/rooms/x.cpp": ("generated\n", ""),
    ".cache/x.cpp": ("cached\n", ""),
    # wrong
    "ir/up.h": (OPENING + '\n#include "ops/op.h"\n', may_not("ir/up.h", 3, "ops/op.h", "base")),
    "base/up.cu": (OPENING + '# include "ir/g.h"', may_not("base/up.cu", 2, "ir/g.h", "nothing")),
    "ir/side.cuh": (OPENING + '#include "loop/l.h"', may_not("ir/side.cuh", 2, "loop/l.h", "base")),
    "ir/angle.h": (OPENING + "#include <ops/o.h>", may_not("ir/angle.h", 2, "ops/o.h", "base")),
    "ir/dots.h": (OPENING + '#include "../ops/o.h"', may_not("ir/dots.h", 2, "ops/o.h", "base")),
    "ir/test.h": (OPENING + '#include "tests/t.h"', may_not("ir/test.h", 2, "tests/t.h", "base")),
    "plan/rest.cpp": (
        OPENING + '#include "backends/runtime.h"\n',
        may_not("plan/rest.cpp", 2, "backends/runtime.h", PLAN_MAY),
    ),
    "run/rest.cpp": (
        OPENING + '#include "backends/ref/target.h"\n',
        may_not("run/rest.cpp", 2, "backends/ref/target.h", RUN_MAY),
    ),
    "dist/rest.cpp": (
        OPENING + '#include "backends/cuda/c.h"\n',
        may_not("dist/rest.cpp", 2, "backends/cuda/c.h", "base"),
    ),
    "nn/run.cpp": (OPENING + '#include "run/r.h"\n', may_not("nn/run.cpp", 2, "run/r.h", NN_MAY)),
    "ops/long.cpp": (OPENING * (MAX_LINES + 1), "ops/long.cpp:801: 801 lines, over 800: split it"),
    "tests/ops/long_test.cpp": (OPENING * 900, "tests/ops/long_test.cpp:801: 900 lines"),
    "tools/long.py": ("# Long.\n" * 801, "tools/long.py:801: 801 lines"),
    "tools/long.sh": ("# Long.\n" * 801, "tools/long.sh:801: 801 lines"),
    "ops/mute.cpp": ('#include "ops/op.h"\n', "ops/mute.cpp:1: no comment in the first 5 lines"),
    "ops/late.h": ("\n" * 5 + OPENING, "ops/late.h:1: no comment in the first 5 lines"),
    "ops/empty.h": ("", "ops/empty.h:1: no comment in the first 5 lines"),
    "tools/mute.py": ("#!/usr/bin/env python3\nimport os\n", "tools/mute.py:1: no comment"),
    "tools/mute.sh": ("#!/bin/sh\nset -u\n", "tools/mute.sh:1: no comment"),
}


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, (text, _) in CASES.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        errors, warnings, _ = check(root)
    failures = []
    for path, (_, expected) in CASES.items():
        wants = [expected] if expected not in ("", "WARNING") else []
        said = [e for e in errors if e.startswith(path + ":")]
        if len(said) != len(wants) or not all(s.startswith(w) for s, w in zip(said, wants)):
            failures.append(f"self-test: {path}: expected {wants}, got {said}")
        warned = any(w.startswith(path + ":") for w in warnings)
        if warned != (expected == "WARNING"):
            failures.append(f"self-test: {path}: warning is {warned}")
    for line in failures:
        print(line)
    print(f"self-test: {len(CASES)} files planted, {len(failures)} judged wrongly")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if len(sys.argv) > 2 or sys.argv[1:2] and sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else here))
