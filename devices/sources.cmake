# Written by ./dev sources.
set(sources
  opencl/devices.cpp
  opencl/graph.cpp
  opencl/pinned_memory.cpp
  opencl/plugin.cpp
  opencl/profiler.cpp
  opencl/program.cpp
  opencl/program_cache.cpp
  opencl/status.cpp)
