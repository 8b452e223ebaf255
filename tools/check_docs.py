#!/usr/bin/env python3
"""Runs every command and code block of README.md, docs/ and --help, so that none says what is not so.

  check_docs.py [--program build/plait] [--only README.md] [--root DIR] [--self-test]

A block is fenced (```), or indented by four blanks. What stands in it says how it is checked:

  $ COMMAND      a transcript: each command runs in bash, and what it prints must be what stands below,
                 with every number taken as equal to every other, blanks collapsed, and a line `...`
                 for any lines. `$ cat FILE` of a file that is not there makes it of what stands below.
  graph ...      the text form: `plait check` takes it.
  ```cpp         g++ compiles it.

A comment `<!-- doc: HOW -->` on the lines before the block says so where that is not what is meant;
there is no other way round a check, and a block of no known kind is an error:

  runs                    a transcript whose output is of one machine: commands must succeed, no more
  fails                   a transcript whose commands must fail; output is compared
  make                    lines `make TARGET`: the targets must exist
  usage                   lines `plait COMMAND ...`: the command and all --flags must exist
  train ARGUMENTS         a config: `plait train` takes it with these arguments over it
  text WHY                a picture, a grammar, messages: nothing that runs
  skip WHY                what cannot run here, or takes too long
  needs FILE [as NAME]    skipped where FILE is not there; NAME links to it
  file NAME, then lines   makes a file before the block
  cpp, then lines         compiled where the line @ stands between them

Commands run in a temporary folder that has the repository's files (as links) and `build/plait`.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

COMMAND_SECONDS = 60
HELP = "--help"  # not a file: what the program itself says


@dataclass
class Block:
    page: str
    line: int  # of its first line
    lang: str
    lines: list
    notes: list = field(default_factory=list)  # texts of `doc:` comments

    def note(self, word):
        """What stands behind the word in a comment; None where there is no such comment."""
        for text in self.notes:
            first, _, rest = text.partition("\n")
            if first.split(" ", 1)[0] == word:
                head = first[len(word):].strip()
                return head + ("\n" + rest if rest else "")
        return None


class Failed(Exception):
    pass


def blocks_of(page, text):
    """Blocks in order, with the comments that stand directly before each."""
    lines = text.split("\n")
    out, notes, i = [], [], 0
    while i < len(lines):
        line = lines[i]
        if line.startswith("<!-- doc:"):
            start = i
            while "-->" not in lines[i]:
                i += 1
            whole = "\n".join(lines[start:i + 1])
            notes.append(whole[len("<!-- doc:"):whole.index("-->")].strip())
        elif line.lstrip().startswith("```"):
            indent = len(line) - len(line.lstrip())
            lang, start = line.strip()[3:], i + 1
            i += 1
            while not lines[i].strip() == "```":
                i += 1
            out.append(Block(page, start + 1, lang, [x[indent:] for x in lines[start:i]], notes))
            notes = []
        elif is_indented(lines, i):
            start = i
            while i < len(lines) and (lines[i].startswith("    ") or
                                      (not lines[i].strip() and follows(lines, i))):
                i += 1
            body = [x[4:] for x in lines[start:i]]
            out.append(Block(page, start + 1, "", body, notes))
            notes = []
            continue
        elif line.strip():
            if notes:
                raise Failed(f"{page}:{i + 1}: a `doc:` comment stands before no block")
        i += 1
    return out


def follows(lines, i):
    while i < len(lines) and not lines[i].strip():
        i += 1
    return i < len(lines) and lines[i].startswith("    ")


def is_indented(lines, i):
    """Whether an indented block begins here: behind an empty line, and not as part of a list."""
    if not lines[i].startswith("    ") or not lines[i].strip():
        return False
    before = i - 1
    while before >= 0 and (not lines[before].strip() or lines[before].startswith("<!-- doc:")):
        before -= 1
    return before < i - 1 and not re.match(r"\s*([-*]|\d+\.)\s", lines[before])


NUMBER = re.compile(r"[-+>]?\b\d[\d,]*(\.\d+)?([eE][-+]?\d+)?%?")


def alike(line):
    """The line with what differs from run to run taken out."""
    line = re.sub(r"\b[0-9a-f]{16}\b", "@", line)
    line = line.replace("ref,null,cpu,cuda", "ref,null,cpu")  # where there is a GPU
    line = re.sub(r"\b(loop(\.[a-z]+)+)\.[0-9a-f]{8}\b", r"\1.@", line)  # ids made from texts
    line = re.sub(r"\(\d+(\.\d+)? [kMG]?B\)", "", line)  # a rounded form may change its unit
    line = re.sub(NUMBER, "#", line)
    return " ".join(line.split())


def compare(wanted, got):
    """None where they agree, otherwise the first line that does not."""
    want = [alike(x) for x in wanted]
    have = [alike(x) for x in got]
    while have and not have[-1]:
        have.pop()
    while want and not want[-1]:
        want.pop()

    def match(i, j):
        while i < len(want):
            if want[i] == "...":
                return any(match(i + 1, k) for k in range(j, len(have) + 1))
            if j >= len(have) or want[i] != have[j]:
                return False
            i, j = i + 1, j + 1
        return j == len(have)

    if match(0, 0):
        return None
    for i, line in enumerate(want):
        if line == "..." or i >= len(have) or line != have[i]:
            shown = got[i] if i < len(got) else "(nothing)"
            return f"says:   {wanted[i]}\n  prints: {shown}"
    return f"prints more: {got[len(want)]}"


def transcript(lines):
    """[(command, output lines)]; a command goes on behind a backslash and in an open quote."""
    out, i = [], 0
    while i < len(lines):
        if not lines[i].startswith("$ "):
            raise Failed("does not begin with a command")
        command = lines[i][2:]
        i += 1
        while command.endswith("\\") or command.count("'") % 2:
            command += "\n" + lines[i]
            i += 1
        start = i
        while i < len(lines) and not lines[i].startswith("$ "):
            i += 1
        out.append((command, lines[start:i]))
    return out


class Checker:
    def __init__(self, root, program):
        self.root, self.program = root, os.path.abspath(program)
        self.folder = tempfile.mkdtemp(prefix="plait_docs_")
        for name in os.listdir(root):
            if name not in ("build", ".git", "runs"):
                os.symlink(os.path.join(root, name), os.path.join(self.folder, name))
        build = os.path.join(self.folder, "build")
        os.mkdir(build)
        for name in os.listdir(os.path.dirname(self.program)):
            if name.endswith((".so", ".txt")) or name.startswith("lab_") or name == "plait":
                os.symlink(os.path.join(os.path.dirname(self.program), name),
                           os.path.join(build, name))

    def close(self):
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, command, both=False):
        environment = dict(os.environ, PATH=os.path.join(self.folder, "build") + ":" +
                           os.environ["PATH"])
        if any(shutil.which(name) for name in ("cc", "gcc", "clang")):
            environment.pop("CC", None)  # pages are written for a machine that does not set it
        return subprocess.run(["bash", "-c", command], cwd=self.folder, env=environment, text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT if both else subprocess.PIPE,
                              timeout=COMMAND_SECONDS)

    def need(self, what):
        """False where it is not there."""
        there, _, name = what.partition(" as ")
        found = os.path.join(self.root, there)
        if not os.path.exists(found) and not os.path.exists(self.path(there)):
            return False
        if name:
            os.symlink(found, self.path(name))
        return True

    def make_files(self, block):
        for text in block.notes:
            first, _, rest = text.partition("\n")
            if first.startswith("file "):
                with open(self.path(first[5:].strip()), "w") as file:
                    file.write(rest + "\n")

    def check(self, block):
        """What was done with it."""
        for word in ("skip", "text"):
            why = block.note(word)
            if why is not None:
                if not why:
                    raise Failed(f"`doc: {word}` wants a reason")
                return f"{word}: {why}"
        needs = block.note("needs")
        if needs is not None and not self.need(needs):
            return f"skip: {needs.split(' as ')[0]} is not there"
        self.make_files(block)
        if block.note("usage") is not None:
            return self.check_usage(block)
        if block.note("make") is not None:
            return self.check_make(block)
        if block.note("train") is not None:
            return self.check_config(block)
        if block.lang == "cpp" or block.note("cpp") is not None:
            return self.check_cpp(block)
        if block.lines and block.lines[0].startswith("$ "):
            return self.check_transcript(block)
        if any(re.match(r"graph \S+\(", x) for x in block.lines):
            return self.check_graph(block)
        raise Failed("is of no known kind: say which in a comment `<!-- doc: ... -->` before it")

    def check_transcript(self, block):
        commands = transcript(block.lines)
        if block.page.startswith("plait "):  # help shows calls alone, too: of files of the user's
            alone = [c for c, output in commands if not output]
            self.check_usage(Block(block.page, 1, "", alone))
            commands = [(c, output) for c, output in commands if output]
        runs, fails = block.note("runs") is not None, block.note("fails") is not None
        for command, wanted in commands:
            made = re.fullmatch(r"cat (\S+)", command)
            if made and not os.path.exists(self.path(made.group(1))):
                with open(self.path(made.group(1)), "w") as file:
                    file.write("\n".join(wanted) + "\n")
                continue
            done = self.run(command)
            if (done.returncode != 0) != fails:
                raise Failed(f"$ {command}\n  exit {done.returncode}: {done.stderr.strip()[-600:]}")
            # A page shows what is printed, with the notes on standard error or without.
            shown = [done.stdout, done.stderr + done.stdout, done.stdout + done.stderr]
            differ = [compare(wanted, text.split("\n")) for text in shown]
            if not runs and all(differ):
                raise Failed(f"$ {command}\n  {differ[0]}")
        return f"{len(commands)} commands {'run' if runs else 'compared'}"

    def check_graph(self, block):
        with open(self.path("block_of_docs.plait"), "w") as file:
            file.write("\n".join(block.lines) + "\n")
        done = self.run("build/plait check block_of_docs.plait", both=True)
        if done.returncode != 0:
            raise Failed(done.stdout.strip())
        return "a graph"

    def check_config(self, block):
        with open(self.path("block_of_docs.toml"), "w") as file:
            file.write("\n".join(block.lines) + "\n")
        done = self.run("build/plait train block_of_docs.toml --overwrite output.folder=run_of_docs " +
                        block.note("train"), both=True)
        if done.returncode != 0:
            raise Failed(done.stdout.strip()[-600:])
        return "trained"

    def check_make(self, block):
        for line in block.lines:
            for target in re.findall(r"make ([\w-]+)", line):
                done = self.run(f"make -n {target}", both=True)
                if done.returncode != 0:
                    raise Failed(done.stdout.strip()[-600:])
        return f"{len(block.lines)} lines of targets"

    def check_usage(self, block):
        count = 0
        for line in block.lines:
            words = line.split()
            if len(words) < 2 or words[0].split("/")[-1] != "plait":
                raise Failed(f"is no usage of plait: {line}")
            done = self.run(f"build/plait {words[1]} --help", both=True)
            if done.returncode != 0:
                raise Failed(done.stdout.strip())
            for flag in re.findall(r"(?<!\S)\[?(--?[a-z][a-z0-9-]*)", line):
                if f" {flag} " not in done.stdout.replace("\n", " "):
                    raise Failed(f"`plait {words[1]}` has no {flag}")
            count += 1
        return f"{count} usages"

    def check_cpp(self, block):
        around = (block.note("cpp") or "").split("\n", 1)[1:]
        body = "\n".join(block.lines)
        text = re.sub(r"(?m)^@$", lambda _: body, around[0]) if around else body
        done = subprocess.run(
            [os.environ.get("CXX", "g++"), "-std=c++20", "-fsyntax-only", "-Wall", "-Werror",
             "-Wno-unused", "-I", self.root, "-x", "c++", "-"],
            input=text + "\n", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise Failed(done.stdout[:1500])
        return "compiles"


def help_blocks(checker):
    """The examples of `plait COMMAND --help`, each a page of its own."""
    names = re.findall(r"(?m)^  (\w+) ", checker.run("build/plait help").stdout)
    for name in names:
        text = checker.run(f"build/plait {name} --help").stdout
        lines = text.partition("\nexample:\n")[2].split("\n")
        lines = [x[2:] for x in lines]
        while lines and not lines[-1]:
            lines.pop()
        if lines:
            yield Block(f"plait {name} --help", 1, "", lines)


def pages(root):
    docs = sorted(f"docs/{x}" for x in os.listdir(os.path.join(root, "docs")) if x.endswith(".md"))
    return ["README.md"] + docs + [HELP]


def check_all(args):
    failed = checked = 0
    for page in [args.only] if args.only else pages(args.root):
        text = ""
        if page != HELP:
            with open(os.path.join(args.root, page)) as file:
                text = file.read()
        checker = Checker(args.root, args.program)
        try:
            for block in help_blocks(checker) if page == HELP else blocks_of(page, text):
                start = time.monotonic()
                try:
                    said = checker.check(block)
                except (Failed, subprocess.TimeoutExpired) as error:
                    said, failed = f"FAILED\n  {error}", failed + 1
                checked += 1
                print(f"{block.page}:{block.line}: {said} ({time.monotonic() - start:.1f} s)", flush=True)
        finally:
            checker.close()
    print(f"{checked} blocks, {failed} failed")
    return 1 if failed else 0


def self_test():
    """That differences are seen and annotations are wanted."""
    assert compare(["a 1.5 ms", "b"], ["a  27 ms", "b", ""]) is None
    assert compare(["a 51%"], ["a >100%"]) is None
    assert compare(["a 1"], ["c 1"]) is not None
    assert compare(["a", "...", "z"], ["a", "b", "c", "z"]) is None
    assert compare(["a", "...", "z"], ["a", "b", "c"]) is not None
    assert compare(["a"], ["a", "b"]) is not None
    assert compare(["hash 6e44d63aee223333"], ["hash 581d8f82ed4dc055"]) is None
    page = "x\n\n<!-- doc: file a\nb\n-->\n<!-- doc: runs -->\n```\n$ cat a\n```\n\n    plait x\n"
    found = blocks_of("p", page)
    assert [b.line for b in found] == [8, 11], found
    assert found[0].note("runs") == "" and found[0].note("file") == "a\nb"
    assert found[1].lines[0] == "plait x" and found[1].notes == []
    checker = Checker.__new__(Checker)
    for bad in (Block("p", 1, "", ["what"]), Block("p", 1, "", ["x"], ["skip"])):
        try:
            checker.folder = checker.root = "."
            checker.check(bad)
        except Failed:
            continue
        raise AssertionError(bad)
    print("ok")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--program", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    args.program = args.program or os.path.join(args.root, "build/plait")
    return check_all(args)


if __name__ == "__main__":
    sys.exit(main())
