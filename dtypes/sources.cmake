# Written by ./dev sources.
set(sources
  bulk.cpp
  convert.cpp
  core_convert.cpp
  dtype.cpp
  error.cpp
  mx.cpp
  printable.cpp
  safetensors_names.cpp)
