#!/usr/bin/env python3
"""metal_headers.py WHEEL FOLDER: takes metal-cpp, with its licence, out of a wheel of mlx-metal."""
import pathlib
import sys
import zipfile

PREFIX = "mlx/include/metal_cpp/"

wheel, folder = sys.argv[1], pathlib.Path(sys.argv[2])
with zipfile.ZipFile(wheel) as archive:
    names = [name for name in archive.namelist() if name.startswith(PREFIX) and not name.endswith("/")]
    for name in names:
        path = folder / name.removeprefix(PREFIX)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(archive.read(name))
if not (folder / "Metal/Metal.hpp").exists():
    sys.exit(f"FAIL {wheel} has no metal-cpp in {PREFIX}")
