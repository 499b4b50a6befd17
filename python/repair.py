#!/usr/bin/env python3
"""Makes a wheel carry its libraries: repair.py WHEEL --plat TAG --out FOLDER.

auditwheel copies what `ldd` finds into tern.libs/. The licence of each library, as its Debian package has it, and those of
the libraries that are headers alone go to the wheel's licences.
"""
import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# Header-only packages, without a shared library. nanobind's licence comes with its package from PyPI.
HEADERS = ["nlohmann-json3-dev", "libcli11-dev", "libflatbuffers-dev"]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(wheel):
    """The real path of each shared library that the wheel's binaries need, by the names under which auditwheel stores it."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith(".so"):
                continue
            binary = archive.extract(name, folder)
            for soname, path in re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", binary), re.M):
                real = pathlib.Path(path).resolve()
                found[soname] = found[real.name] = real
    return found


def package_of(path):
    """The Debian package of a file: libdnnl.so.2.6 is of libdnnl2. Older ones are recorded under /lib."""
    for candidate in (str(path), str(path).removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    sys.exit(f"repair.py: no package has {path}, so its licence is unknown")


def licences(libraries, paths):
    """Texts by the names of their files."""
    import nanobind

    packages = {package: package for package in HEADERS}
    for library in libraries:
        original = re.sub(r"-[0-9a-f]{8}(?=\.)", "", library)  # auditwheel's name: libdnnl-d1ab9c3e.so.2.6
        if original not in paths:
            sys.exit(f"repair.py: nothing needs {original}, so its licence is unknown")
        packages[original.split(".so")[0]] = package_of(paths[original])
    texts = {
        f"{name}.txt": pathlib.Path("/usr/share/doc", package, "copyright").read_text() for name, package in packages.items()
    }
    distribution = next(pathlib.Path(nanobind.__file__).parent.parent.glob("nanobind-*.dist-info"))
    texts["nanobind.txt"] = next(distribution.rglob("LICENSE*")).read_text()
    return texts


def line_of(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def add_licences(wheel, paths, out):
    with zipfile.ZipFile(wheel) as old:
        record = next(n for n in old.namelist() if n.endswith(".dist-info/RECORD"))
        folder = record.removesuffix("RECORD") + "licenses/"
        libraries = [pathlib.PurePosixPath(n).name for n in old.namelist() if n.startswith("tern.libs/") and ".so" in n]
        texts = {folder + name: text.encode() for name, text in sorted(licences(libraries, paths).items())}
        lines = [x for x in old.read(record).decode().splitlines() if x and not x.startswith(record)]
        lines += [line_of(name, data) for name, data in texts.items()] + [f"{record},,"]
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
            for info in old.infolist():
                if info.filename != record:
                    new.writestr(info, old.read(info), zipfile.ZIP_DEFLATED)
            for name, data in texts.items():
                new.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
            new.writestr(zipfile.ZipInfo(record), "\n".join(lines) + "\n", zipfile.ZIP_DEFLATED)
    return libraries


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--plat", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    a = parser.parse_args()
    repaired = a.wheel.parent / "repaired"
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", a.plat, "--only-plat", "--strip", "-w", str(repaired), str(a.wheel))
    (wheel,) = repaired.glob("*.whl")
    a.out.mkdir(parents=True, exist_ok=True)
    target = a.out / wheel.name
    libraries = add_licences(wheel, needed(a.wheel), target)
    print(f"{target}, {target.stat().st_size} bytes, with {len(libraries)} libraries: {', '.join(sorted(libraries))}")


if __name__ == "__main__":
    main()
