"""The device of gpu_check.py: what `tern devices --json` says, whether it is emulated, versions of drivers and compilers."""
import ctypes
import dataclasses
import datetime
import os
import re
import shutil

from gpu_check_step import call

# The plugin uses the first driver that loads (devices/gpu/cuda/names.h and hip/names.h).
DRIVERS = {"cuda": ("libcuda.so.1", "libcuda.so"),
           "rocm": ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
                    "/opt/rocm/lib/libamdhip64.so")}
# A function exported by the stand-ins of tests/gpu, in addition to the vendor's.
EMULATOR = "tern_emulator_calls"
# A vendor's command for the version of the kernel's driver.
TOOLS = {"cuda": (["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], "kernel driver"),
         "rocm": (["cat", "/sys/module/amdgpu/version"], "kernel driver")}
# The compiler's library, the variable with another path, and the version function.
COMPILERS = {"cuda": ("NVRTC", "TERN_NVRTC", ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                              "/usr/local/cuda/lib64/libnvrtc.so"), "nvrtcVersion"),
             "rocm": ("hiprtc", "TERN_HIPRTC", ("libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"),
                      "hiprtcVersion")}


def library(names):
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


@dataclasses.dataclass
class Device:
    plugin: str  # cuda or rocm, for --device
    entry: dict  # output of `tern devices --json`
    emulated: bool

    @property
    def name(self):
        return self.plugin

    @property
    def targets(self):
        """Of kernels in archives. The emulated CUDA driver runs PTX, no machine code."""
        return [t for t in self.entry["kernel_targets"] if not (self.emulated and t.startswith("cuda:sm_"))]

    @staticmethod
    def find(listed, wanted):
        """The first of `wanted`, or of either kind; None where there is none."""
        for entry in listed["devices"]:
            plugin = entry["name"].split(":")[0]
            if plugin in DRIVERS and wanted in (None, plugin):
                driver = library(DRIVERS[plugin])
                return Device(plugin, entry, "emulated" in entry["description"] or hasattr(driver, EMULATOR))
        return None

    def file_name(self):
        words = re.sub(r"[^a-z0-9]+", "-", self.entry["description"].lower()).strip("-")
        return f"{self.plugin}-{words}-{datetime.date.today()}.md"


def no_device(listed, wanted):
    """Why there is no such device: the words of `tern devices`."""
    kinds = [wanted] if wanted else list(DRIVERS)
    lines = [f"there is no device {' or '.join(kinds)} here"]
    for problem in listed["problems"]:
        if any(f"libtern_{kind}." in problem["plugin"] for kind in kinds):
            lines.append(f"  {os.path.basename(problem['plugin'])}: {problem['problem']}")
    lines += [f"  {line}" for line in map(str, listed.get("absent", [])) if any(kind in line for kind in kinds)]
    if len(lines) == 1:
        lines.append("  the plugin is not built: './dev build' says why")
    return "\n".join(lines)


def compiler_version(plugin):
    name, variable, libraries, function = COMPILERS[plugin]
    own = os.environ.get(variable)
    loaded = library([own] if own else libraries)
    if loaded is None:
        return name, "not found by its name; the plugin may know another place"
    major, minor = ctypes.c_int(), ctypes.c_int()
    if getattr(loaded, function)(ctypes.byref(major), ctypes.byref(minor)):
        return name, "unknown"
    return name, f"{major.value}.{minor.value}"


def tool_versions(device, tern):
    """Rows of the report: what, and its version."""
    entry = device.entry
    rows = [("device", entry["description"] + (" (**emulated**)" if device.emulated else "")), ("driver", entry["driver"])]
    command, title = TOOLS[device.plugin]
    if not device.emulated and shutil.which(command[0]):
        done = call(command, 30)
        if not done.wrong:
            rows.append((title, done.output.split("\n")[0].strip()))
    rows.append(compiler_version(device.plugin))
    rows += [("units, memory", f"{entry['units']}, {entry['memory_bytes'] / 2**30:.0f} GiB"),
             ("abilities", ", ".join(entry["extensions"])), ("targets of kernels", ", ".join(entry["kernel_targets"])),
             ("Tern", call([tern, "--version"], 30).output.strip().removeprefix("tern "))]
    revision = call(["git", "describe", "--always", "--dirty"], 30)
    return rows + ([] if revision.wrong else [("revision", revision.output.strip())])
