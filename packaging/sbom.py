#!/usr/bin/env python3
"""Writes the bill of materials of the tarball: sbom.py TARBALL OUT.cdx.json

CycloneDX 1.6, by its own library for Python, which also checks the file against the schema. A component for each part that
parts.txt in the tarball names (packaging/tarball.sh): the source package that it is from, its version and licence, and the
hash of the library as it lies in the tarball. The same tarball gives the same bytes.
"""
import argparse
import datetime
import hashlib
import json
import pathlib
import re
import sys
import tarfile
import uuid

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

# SPDX licences of source packages in Tern's libraries and headers.
LICENCES = {
    "bzip2": "bzip2-1.0.6",
    "cli11": "BSD-3-Clause",
    "flatbuffers": "Apache-2.0",
    "fmtlib": "MIT",
    "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "lapack": "BSD-3-Clause",
    "libzip": "BSD-3-Clause",
    "libzstd": "BSD-3-Clause",
    "nlohmann-json3": "MIT",
    "ocl-icd": "BSD-2-Clause",
    "onednn": "Apache-2.0",
    "openblas": "BSD-3-Clause",
    "openssl": "Apache-2.0",
    "pcre2": "BSD-3-Clause",
    "sentencepiece": "Apache-2.0",
    "utf8proc": "MIT",
    "xxhash": "BSD-2-Clause",
    "zlib": "Zlib",
}
NAME = re.compile(r"(tern)-([0-9.]+)-linux-(\w+)\.tar\.gz")


def licence_of(source):
    key = re.sub(r"-[0-9]+$", "", source)  # gcc-12
    if key not in LICENCES:
        sys.exit(f"sbom.py: LICENCES has no licence of {source}: read its copyright file and add a line")
    return LicenseFactory().make_with_expression(LICENCES[key])


def sha256(data):
    return HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(data).hexdigest())


def part_component(line, contents):
    """Of `lib/libdnnl.so.2 onednn 2.6.3-1 debian`; `-` stands for headers, which lie in no file of their own."""
    file, source, version, distribution = line.split()
    return Component(
        name=source if file == "-" else pathlib.PurePosixPath(file).name, version=version, type=ComponentType.LIBRARY,
        bom_ref=source if file == "-" else file, licenses=[licence_of(source)],
        purl=PackageURL("deb", distribution, source, version, {"arch": "source"}),
        hashes=[] if file == "-" else [sha256(contents[file])])


def bill(path):
    name, version, machine = NAME.fullmatch(path.name).groups()
    with tarfile.open(path) as archive:
        members = [m for m in archive if m.isfile()]
        contents = {m.name.split("/", 1)[1]: archive.extractfile(m).read() for m in members}
        newest = max(m.mtime for m in members)
    tern = Component(name=name, version=version, type=ComponentType.LIBRARY, bom_ref=name, hashes=[sha256(path.read_bytes())],
                     licenses=[LicenseFactory().make_with_expression("Apache-2.0")],
                     description=f"Runs exported PyTorch programs without Python: {path.name}")
    bom = Bom()
    bom.metadata.component = tern
    # Uses the tarball's time instead of the current time, to be reproducible.
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(newest, datetime.timezone.utc)
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, next(iter(tern.hashes)).content)
    parts = [part_component(line, contents) for line in contents["share/doc/tern/parts.txt"].decode().splitlines()]
    listed = {str(p.bom_ref) for p in parts}
    unlisted = [f for f in contents if re.fullmatch(r"lib/[^/]+\.so[^/]*", f) and "libtern" not in f and f not in listed]
    if unlisted:
        sys.exit(f"sbom.py: parts.txt does not name {', '.join(unlisted)}")
    for part in parts:
        bom.components.add(part)
    bom.register_dependency(tern, parts)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tarball", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    a = parser.parse_args()
    text = bill(a.tarball)
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong is not None:
        sys.exit(f"sbom.py: the bill breaks the schema of CycloneDX 1.6: {wrong}")
    partial = a.out.with_suffix(".partial")
    partial.write_text(text)
    partial.rename(a.out)
    print(f"{a.out}, {len(json.loads(text)['components'])} components")


if __name__ == "__main__":
    main()
