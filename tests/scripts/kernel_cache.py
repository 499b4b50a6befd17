#!/usr/bin/env python3
"""Attacks on the cache of compiled kernels, through the plugins of emulated GPUs: each run compiles again, and replaces
what was planted. tests/user_files/program_cache_attack_test.cpp attacks the cache's functions.

  kernel_cache.py BUILD      ends with `N passed, N failed`
"""
import os
import pathlib
import shutil
import sys
import tempfile

import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
OTHER_USER = 12345


def give_to_other_user(files):
    for file in files:
        os.chown(file, OTHER_USER, OTHER_USER)


def let_others_write(files):
    for file in files:
        file.chmod(0o666)


def swap_kernels(files):
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents[1:] + contents[:1]):
        file.write_bytes(content)


def truncate_files(files):
    for file in files:
        os.truncate(file, file.stat().st_size // 2)


def enlarge_files(files):
    for file in files:
        os.truncate(file, 2 << 30)


def plant_links(files):
    elsewhere = files[0].parents[1] / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    for file in files:
        target = elsewhere / file.name
        file.replace(target)
        file.symlink_to(target)


def plant_pipes(files):
    for file in files:
        file.unlink()
        os.mkfifo(file, 0o600)


ATTACKS = (give_to_other_user, let_others_write, swap_kernels, truncate_files, enlarge_files, plant_links, plant_pipes)


def attack_caches(c, build, device):
    model = c.folder / "digits.tern"
    if not model.exists():
        c.check("export", c.run("export", ROOT / "examples/digits/digits.pt2", "-o", model).returncode == 0)
    cache = c.folder / device
    cache.mkdir(mode=0o700)

    def result():
        out = c.folder / "out.npy"
        command = checks.Checks(str(ROOT / "tests/scripts/device.sh"), c.folder)
        done = command.run(device, "env", f"TERN_CACHE={cache}", f"{build}/tern", "run", model, "--random", "--size", "s34=2",
                           "--seed", 3, "--device", device, "-o", out)
        c.check(f"{device}: a run", done.returncode == 0, done.stderr)
        return out.read_bytes()

    expected, programs = result(), cache / "programs"
    sizes = {file.name: file.stat().st_size for file in sorted(programs.iterdir())}
    c.check(f"{device}: kernels are stored", len(sizes) > 1, sizes)
    c.check(f"{device}: a second run", result() == expected)
    for attack in ATTACKS:
        if attack is give_to_other_user and os.geteuid() != 0:
            continue
        attack(sorted(programs.iterdir()))
        name = f"{device}: {attack.__name__}"
        c.check(f"{name}: the result", result() == expected)
        after = {file.name: file.lstat() for file in sorted(programs.iterdir())}
        # A compiler's text of the same kernel may differ by a line.
        c.check(f"{name}: replaced", after.keys() == sizes.keys() and all(
            info.st_mode == 0o100600 and info.st_uid == os.geteuid() and abs(info.st_size - sizes[file]) < 1000
            for file, info in after.items()), (sizes, after))
    shutil.rmtree(cache)


def main():
    build = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        c = checks.Checks(f"{build}/tern", pathlib.Path(folder))
        for device in ("cuda", "rocm"):
            attack_caches(c, build, device)
    print(f"{c.passed} passed, {c.failed} failed")
    sys.exit(c.failed > 0)


if __name__ == "__main__":
    main()
