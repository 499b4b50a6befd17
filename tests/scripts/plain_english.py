#!/usr/bin/env python3
"""Measures how directly the comments of the C++ and Python sources speak.

  plain_english.py [FOLDER...]        prints a line for each top folder, and the total
  plain_english.py --diff REV         lists comments that open indirectly, among the lines added since REV
  plain_english.py --list FOLDER...   lists those comments of whole folders
  plain_english.py --check            ends with status 1 where the total misses a target

A comment begins with its subject or its verb: "Loads rows [begin, end)", "The planner reuses ...". The script counts
comments that open with a preposition ("Of each row, ..."), with a wh-word ("What a node reads") or with a pronoun that names
nothing ("Those that ..."), and the share of pronouns among all words. Large open-source runtimes open 1 to 3 % of comments
with a preposition, below 1 % with a wh-word, and write 0.5 to 2.8 % pronouns.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPENINGS = {
    "preposition": "Of In By With For As From On Without At To Beside Besides Behind Among Within".split(),
    "wh-word": "What Whether How Where Why Which Who Whose".split(),
    "empty pronoun": "It They That Those These Both None Nothing One Ones Such".split(),
}
KINDS = {word: kind for kind, words in OPENINGS.items() for word in words}
PRONOUNS = "it its that which what they those one ones them such there whose who".split()
# Largest shares in percent: of comments, and of words for pronouns.
TARGETS = {"preposition": 3.0, "wh-word": 1.0, "empty pronoun": 2.0, "pronoun": 3.5}
SOURCES = re.compile(r"\.(c|cc|cpp|h|hpp|inc|cu|py|js)$")
WHOLE_LINE = re.compile(r"\s*(?:///?<?|\*|/\*\*?|#)\s+(.*)")
END_OF_LINE = re.compile(r"\s(?:///<|//|#)\s+(.*)$")
NO_PROSE = ("include", "define", "NOLINT", "clang-format", "shellcheck")


def git(*arguments):
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", check=True).stdout.split("\n")


def comments(lines):
    """Returns (number, text) of the first line of each comment, and the words of all comments."""
    found, words, inside = [], [], False
    for number, line in lines:
        whole = WHOLE_LINE.match(line)
        match = whole or END_OF_LINE.search(line)
        if match:
            text = match[1]
            first = not (inside and whole)
            if first and len(text.split()) >= 3 and text[0].isalpha() and not text.startswith(NO_PROSE):
                found.append((number, text))
            words += re.findall(r"[a-z']+", text.lower())
        inside = bool(whole)
    return found, words


def opening(text):
    """The kind of an indirect opening, or None."""
    return KINDS.get(text.split()[0].strip(",.;:").capitalize())


def added_runs(revision, folders):
    """(path, numbered lines) of each run of lines that were added since a revision."""
    path, run = None, []
    for line in git("diff", "-U0", revision, "--", *folders):
        if line.startswith(("+++ ", "@@")):
            if run:
                yield path, run
            run = []
            if line.startswith("+++ "):
                path = line[6:] if SOURCES.search(line) else None
            else:
                number = int(re.search(r"\+(\d+)", line)[1])
        elif line.startswith("+") and path:
            run.append((number, line[1:]))
            number += 1
    if run:
        yield path, run


def print_indirect(path, found):
    """Prints the comments that open indirectly; returns their number."""
    indirect = [(number, text) for number, text in found if opening(text)]
    for number, text in indirect:
        print(f"{path}:{number}: {text[:150]}")
    return len(indirect)


def shares(count):
    return {kind: 100 * count[kind] / max(1, count["word" if kind == "pronoun" else "comment"]) for kind in TARGETS}


def measure(folders, listing):
    """Counters of each top folder and of all."""
    by_folder, total = collections.defaultdict(collections.Counter), collections.Counter()
    for path in filter(SOURCES.search, git("ls-files", "--", *folders)):
        if not (ROOT / path).is_file():
            continue
        found, words = comments(enumerate((ROOT / path).read_text(errors="replace").split("\n"), 1))
        count = collections.Counter(filter(None, (opening(text) for _, text in found)))
        count.update(comment=len(found), word=len(words), pronoun=sum(map(words.count, PRONOUNS)))
        by_folder[path.split("/")[0]] += count
        total += count
        if listing:
            print_indirect(path, found)
    return by_folder, total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--diff", metavar="REV")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folders", nargs="*")
    arguments = parser.parse_args()
    if arguments.diff:
        runs = added_runs(arguments.diff, arguments.folders)
        shown = sum(print_indirect(path, comments(run)[0]) for path, run in runs)
        print(f"{shown} comments open with a preposition, a wh-word or an empty pronoun")
        return 0
    by_folder, total = measure(arguments.folders, arguments.list)
    for name, count in [*sorted(by_folder.items()), ("total", total)]:
        share = shares(count)
        openings = ", ".join(f"{share[kind]:4.1f} % {kind}s" for kind in OPENINGS)
        print(f"{name:12s} {count['comment']:6d} comments: {openings}; {share['pronoun']:4.1f} % of words are pronouns")
    missed = {kind: share for kind, share in shares(total).items() if share > TARGETS[kind]}
    if arguments.check:
        for kind, share in missed.items():
            print(f"FAIL {kind}: {share:.1f} %, at most {TARGETS[kind]} %")
        print(f"{len(TARGETS) - len(missed)} passed, {len(missed)} failed")
    return int(arguments.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
