#!/usr/bin/env python3
"""Checks that a folder includes only what stands below it: python > tools > exporter > generation > text > runtime > loader > kernels > schema > dtypes >
threads > user_files > platform.

include/tern/ is open to all and includes nothing of the project but itself. A folder of devices/ includes itself,
<tern/device.h>, devices/program_cache/, user_files/ and platform/ alone: plugins are built without Tern, and so are engines/ with <tern/engine.h> and platform/. A name without a folder is chosen by the
build (devices/gpu/cuda/names.h or devices/gpu/hip/names.h, and lt_names.h and nccl_names.h there). No folder but platform/ calls getenv. Prints every wrong
line; exit status 1 if any.
"""
import pathlib
import re
import sys

LAYERS = ["python", "tools", "exporter", "generation", "text", "runtime", "loader", "kernels", "schema", "dtypes", "threads", "user_files", "platform"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".hpp", ".cpp", ".cc", ".inc", ".cu"}


def sources(root, folder):
    return sorted(path for path in (root / folder).rglob("*") if path.suffix in SOURCES)


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1], match[2]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    wrong, files = [], 0
    for rank, folder in enumerate(LAYERS):
        for path in sources(root, folder):
            files += 1
            for number, _, name in includes(path):
                target = name.split("/")[0] if "/" in name else None
                if target in LAYERS and LAYERS.index(target) < rank:
                    wrong.append(f"{path}:{number}: {folder}/ includes {name}, which stands above it")
    for path in sources(root, "include/tern"):
        files += 1
        for number, kind, name in includes(path):
            if kind == '"' or (name.split("/")[0] in LAYERS):
                wrong.append(f"{path}:{number}: include/tern/ includes {name}; it may include only <tern/...> and the library")
    for path in sources(root, "devices"):
        files += 1
        own = ("/".join(path.relative_to(root).parts[:2]) + "/", "devices/program_cache/", "user_files/", "platform/", "names.h", "lt_names.h", "nccl_names.h")
        for number, kind, name in includes(path):
            if (name.startswith("tern/") and name != "tern/device.h") or (kind == '"' and not name.startswith(own)):
                wrong.append(f"{path}:{number}: a device plugin includes {name}; it may include <tern/device.h>, its own folder, devices/program_cache/, user_files/ and platform/")
    for path in sources(root, "engines"):
        files += 1
        for number, kind, name in includes(path):
            if (name.startswith("tern/") and name != "tern/engine.h") or (kind == '"' and not name.startswith(("engines/", "platform/"))):
                wrong.append(f"{path}:{number}: an engine includes {name}; it may include <tern/engine.h>, engines/ and platform/")
    for folder in [*LAYERS, "devices", "engines"]:
        for path in sources(root, folder):
            if folder == "platform":
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if "getenv(" in line:
                    wrong.append(f"{path}:{number}: getenv obeys the caller of a set-user-ID program; use platform::trusted_variable")
    for line in wrong:
        print("FAIL", line)
    if not files:
        print("FAIL no sources found below", root.resolve())
    sys.exit(bool(wrong) or not files)


if __name__ == "__main__":
    main()
