# Written by ./dev sources.
set(sources
  blocks_test.cpp
  checked_test.cpp
  convert_test.cpp
  cpu_features_test.cpp
  dtype_test.cpp
  float8_golden_test.cpp
  scale_grid_test.cpp
  small_float_test.cpp)
