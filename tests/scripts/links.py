#!/usr/bin/env python3
"""Checks that the names in the pages exist: links, paths in backticks, commands with their options, variables, tests, rules.

  links.py [--tern TERN]      ends with `N passed, N failed`: a check for each page, one for the rules of the format, one for the
                              variables of the environment, one for the tables of contents of ./dev site, one for the counts
                              of docs/coverage.md, and one for the speeds of README.md
"""
import argparse
import ast
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Folders whose code is part of the library, its plugins and the command.
PRODUCT = "runtime exporter tools devices engines generation text loader kernels schema dtypes threads user_files platform python/binding".split()
SOURCE = (".md", ".h", ".cpp", ".py", ".sh", ".inc", ".fbs", ".cmake", ".c")
# Created by a build or by commands of the page, or names of the reader's own files.
MADE = re.compile(r"^(build|dist|tests)/?$|^(build|dist|build-bench|tern)/|^(generate\.cpp|model\.py|librope\.so)$")


def tracked():
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"],
                           stdout=subprocess.PIPE, text=True, check=False).stdout.split("\n")
    if not names[0]:  # no repository: an unpacked tarball
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if "build" not in p.parts]
    paths = set()
    for name in filter(None, names):
        parts = name.split("/")
        for i in range(len(parts)):  # every folder and every tail: `channels_last/winograd.h`
            paths |= {"/".join(parts[i:j]) for j in range(i + 1, len(parts) + 1)}
    return paths


def help_text(tern, command):
    result = subprocess.run([tern, *command, "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return result.stdout if result.returncode == 0 else None


class Checker:
    def __init__(self, tern):
        self.tern, self.paths, self.helps = tern, tracked(), {}
        self.dev = (ROOT / "dev").read_text()
        code = [p for p in self.paths if p.endswith((".h", ".cpp", ".inc", ".c", ".sh", ".py", ".txt", ".cmake")) or p == "dev"]
        self.sources = "\n".join((ROOT / p).read_text(errors="replace") for p in code if (ROOT / p).is_file())

    def links(self, page, text):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target and not (page.parent / target).exists():
                yield f"the link {target} leads nowhere"

    def path(self, span):
        """A path of the sources: ends as one does, or begins with a folder of ours."""
        if not re.fullmatch(r"[\w.+-]+(/[\w.+-]+)*/?", span) or MADE.match(span) or re.search("FAMILY|NAME", span):
            return
        name = span.rstrip("/")
        looks = span.endswith(SOURCE) or "/" in name and (ROOT / span.split("/")[0]).is_dir()
        if looks and name not in self.paths:
            yield f"`{span}` is no file or folder"

    def command(self, span):
        words = span.split()
        words = words[next((i for i, w in enumerate(words) if "=" not in w), 0):]  # VARIABLE=value before the command
        if words[:1] == ["./dev"] and len(words) > 1 and re.fullmatch("[a-z]+", words[1]) and \
                not re.search(rf"^  (?:[a-z -]+\| )*{words[1]}\b", self.dev, re.M):
            yield f"`{span}`: ./dev has no such command"
        if words[:1] and words[0] in ("tern", "build/tern") and len(words) > 1 and re.fullmatch("[a-z]+", words[1]):
            if words[1] not in self.helps:
                self.helps[words[1]] = help_text(self.tern, [words[1]])
            text = self.helps[words[1]]
            if text is None:
                yield f"`{span}`: tern has no command {words[1]}"
                return
            for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", span.split("#")[0]):
                if option not in text and option not in (help_text(self.tern, []) or ""):
                    yield f"`{span}`: tern {words[1]} has no {option}"

    def names(self, span):
        if re.fullmatch(r"TERN_[A-Z_]+(=.*)?", span) and span.split("=")[0] not in self.sources:
            yield f"`{span}` is in no source"

    def tests(self, text):
        """`Suite.Test`, and `.Test` of the suite before it."""
        suite = ""
        for head, name in re.findall(r"`([A-Z]\w*|)\.([A-Z]\w*|\*)`", "\n".join(l for l in text.splitlines() if l.startswith("|"))):
            suite = head or suite
            end = r"\b" if name == "*" else rf",\s*{name}\)"
            if not re.search(rf"\bTEST(?:_[FP])?\({suite}{'' if name == '*' else end}", self.sources):
                yield f"there is no test {suite}.{name}"

    def page(self, page):
        text = page.read_text()
        problems = list(self.links(page, text))
        for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"```.*?```", "", text, flags=re.S)):
            problems += [*self.path(span), *self.command(span), *self.names(span)]
        for block in re.findall(r"```sh\n(.*?)```", text, re.S) + re.findall(r"(?:^    \S.*\n)+", text, re.M):
            for line in block.splitlines():
                problems += self.command(line.strip())
        if page.name == "SECURITY.md":
            problems += self.tests(text)
        return sorted(set(problems))

    def rules(self):
        """The rules of docs/format.md are those that the sources name."""
        section = (ROOT / "docs/format.md").read_text().split("## Rules")[1].split("\n## ")[0]
        documented, group = set(), ""
        for line in section.splitlines():
            for head, name in re.findall(r"`([a-z]*)\.([a-z0-9_]+)`", line.split("|")[1] if line.startswith("| `") else ""):
                group = head or group
                documented.add(f"{group}.{name}")
        code = "".join(p.read_text() for folder in ("loader", "schema", "runtime", "tools") for p in (ROOT / folder).rglob("*.[ch]*") if p.is_file())
        groups = "|".join(sorted({r.split(".")[0] for r in documented}))
        known = set(re.findall(rf'"((?:{groups})\.[a-z0-9_]+)"', code))
        return [f"docs/format.md lacks the rule {r}" for r in sorted(known - documented)] + \
               [f"docs/format.md has the rule {r}, which no source names" for r in sorted(documented - known)]

    def variables(self):
        """docs/environment.md has the variables that the product reads."""
        rows = re.findall(r"^\| (`[^|]*) \|", (ROOT / "docs/environment.md").read_text(), re.M)
        listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
        codes = [p.read_text() for folder in PRODUCT for p in sorted((ROOT / folder).rglob("*.[ch]*")) if p.is_file()]
        read = {"CXX", "TERM", "COLUMNS"}  # read through tables and functions, which no expression below matches
        for code in codes:
            for end in re.findall(r'plugin_variable\("(\w+)"\)', code):
                read |= {"TERN_CUDA" + end, "TERN_ROCM" + end}
            read |= set(re.findall(r'(?:getenv|trusted_variable)\("(\w+)"\)', code))
            if "getenv(" in code or "ariable" in code:
                read |= set(re.findall(r'"((?:TERN|OMPI|SLURM|MASTER|TORCHELASTIC|LC)_\w*[A-Z])"', code))
        read -= set(re.findall(r"^#define (\w+)", self.sources, re.M)) | {"TERN_CUDA", "TERN_ROCM"}
        quoted = set(re.findall(r'"([A-Z]\w+)"', "".join(codes)))
        return [f"docs/environment.md lacks {name}, which the sources read" for name in sorted(read - listed)] + \
               [f"docs/environment.md has {name}, which is in no source" for name in sorted(listed - read - quoted)]

    def contents(self):
        """Each page of the HTML (include_patterns of docs/site/conf.py) is in a table of contents; else ./dev site fails."""
        patterns = re.search(r"^include_patterns = (\[.*\])$", (ROOT / "docs/site/conf.py").read_text(), re.M)[1]
        pages = {p.relative_to(ROOT).with_suffix("") for pattern in ast.literal_eval(patterns)
                 for p in ROOT.glob(pattern.replace("**.md", "**/*.md"))}  # fmt: skip
        index = pathlib.PurePath("docs/site/index")
        lines = [line for tree in re.findall(r"```\{toctree\}\n(.*?)```", (ROOT / f"{index}.md").read_text(), re.S)
                 for line in tree.splitlines() if line and not line.startswith(":")]  # fmt: skip
        entries = [line[1:] if line.startswith("/") else f"{index.parent}/{line}" for line in lines]
        problems = [f"no toctree of {index}.md has {page}.md" for page in sorted(pages - {index})
                    if not any(fnmatch.fnmatchcase(str(page), entry) for entry in entries)]  # fmt: skip
        problems += [f"{index}.md lists {entry}, which is no page" for entry in entries
                     if not any(fnmatch.fnmatchcase(str(page), entry) for page in pages)]  # fmt: skip
        return problems

    def counts(self):
        """The counts of docs/coverage.md are those of the packed cases and of the list of known failures."""
        known = (ROOT / "tests/data/conformance_expected_failures.txt").read_text().splitlines()
        rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|", (ROOT / "docs/coverage.md").read_text(), re.M)
        for folder, cases, failures in rows:
            packed = subprocess.run(["tar", "-tf", ROOT / f"tests/data/{folder}.tar.zst"], stdout=subprocess.PIPE, text=True, check=False)
            found = sum(name.endswith(".pt2") for name in packed.stdout.splitlines())
            if found != int(cases):
                yield f"`{folder}` has {found} cases, not {cases}"
            found = sum(line.startswith(f"{folder}/") for line in known)
            if found != int(failures):
                yield f"`{folder}` has {found} known failures, not {failures}"
        if not rows:
            yield "docs/coverage.md has no table of cases"

    def speeds(self):
        """The speeds of README.md stand in docs/performance.md, too."""
        text = (ROOT / "README.md").read_text()
        known = set(re.findall(r"[\d.,]*\d", (ROOT / "docs/performance.md").read_text()))
        rows = re.findall(r"^\| (?:gpt2: |Tern, |llama\.cpp, |transformers')[^|]*\|(.*)$", text, re.M)
        paragraph = re.search(r"^\*\*Speed\.\*\*(.*?)\n\n", text, re.M | re.S)
        for place in [*rows, re.sub(r"`[^`]*`", "", paragraph[1]) if paragraph else ""]:
            for number in re.findall(r"(?<![\w-])\d[\d.,]*\d", re.sub(r"[a-zA-Z]+-?\d+", "", place)):
                if number not in known:
                    yield f"{number} is not in docs/performance.md"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", default=str(ROOT / "build/tern"))
    checker = Checker(os.path.abspath(parser.parse_args().tern))
    pages = [p for pattern in ("*.md", "docs/*.md", "docs/site/*.md", "examples/*.md", "examples/*/*.md", "fuzz/*.md") for p in sorted(ROOT.glob(pattern))]
    found = [(str(p.relative_to(ROOT)), checker.page(p)) for p in pages]
    found += [("rules of the format", checker.rules()), ("variables", checker.variables()),
              ("tables of contents", checker.contents()),
              ("counts of docs/coverage.md", list(checker.counts())), ("speeds of README.md", list(checker.speeds()))]
    for name, problems in found:
        for problem in problems:
            print(f"FAIL {name}: {problem}")
    failed = sum(bool(problems) for _, problems in found)
    print(f"{len(found) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
