#!/usr/bin/env python3
"""Writes each sources.cmake, the list of the files that a folder's CMakeLists.txt builds: `./dev sources`.

`sources.py --check` writes nothing, names every list that is stale, and exits with 1 if any is.
"""
import pathlib
import sys

# Every folder with a list of all its .cpp files, including each folder of tests/ with a NAME_test.cpp.
FOLDERS = [
    "bench", "devices", "dtypes", "exporter", "fuzz", "generation", "kernels", "loader", "platform", "python/binding", "runtime", "schema", "text", "threads", "tools", "user_files"
]


def command(name, folder, pattern):
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob(pattern))
    return "".join(f"\n  {path}" for path in paths).join([f"set({name}", ")\n"])


def lists(root):
    """The content of each sources.cmake, by its path."""
    tests = sorted({path.parent.relative_to(root).as_posix() for path in (root / "tests").glob("*/*_test.cpp")})
    for folder in FOLDERS + tests:
        yield f"{folder}/sources.cmake", "# Written by ./dev sources.\n" + command("sources", root / folder, "*.cpp")


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: sources.py [--check]")
    root = pathlib.Path(__file__).resolve().parents[2]
    stale = []
    for name, text in lists(root):
        path = root / name
        if path.is_file() and path.read_text() == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(text)
    for name in stale:
        print(f"FAIL {name} is stale: run './dev sources'" if check else f"wrote {name}")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
