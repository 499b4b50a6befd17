# Written by ./dev sources.
set(sources
  absent_plugins_test.cpp
  annotate_test.cpp
  bits_test.cpp
  compare_test.cpp
  deep_check_test.cpp
  files_npy_test.cpp
  files_npz_test.cpp
  files_safetensors_test.cpp
  inspect_test.cpp
  names_test.cpp
  operators_test.cpp
  reference_test.cpp
  scaling_test.cpp
  terminal_test.cpp)
