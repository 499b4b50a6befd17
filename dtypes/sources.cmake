# Written by ./dev sources.
set(sources
  blocks.cpp
  bulk.cpp
  convert.cpp
  core_convert.cpp
  cpu_features.cpp
  dtype.cpp
  error.cpp
  float_bytes.cpp
  printable.cpp
  safetensors_names.cpp
  state_codes.cpp)
