"""What the figures were measured on and with."""
import os
import pathlib
import platform
import subprocess

from .runtimes import RUNTIMES


def _processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return " ".join(line.split(":", 1)[1].split())
    return platform.machine()


def _system():
    return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())


def _memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def describe():
    return {"processor": _processor(), "cores": os.cpu_count(), "memory_gib": round(_memory_gib()), "system": _system(),
            "kernel": platform.release().split("-")[0]}


def versions(tern, runtimes):
    """Version of each package among the runtimes, and of Tern."""
    from importlib import metadata

    found = {"tern": subprocess.run([tern, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]}
    for name in runtimes:
        package = RUNTIMES[name].package
        if package:
            try:
                found[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                found[package] = "not installed"
    return found
