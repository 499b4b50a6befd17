# Written by ./dev sources.
set(sources
  archived_kernels_test.cpp
  collective_test.cpp
  driver_failure_test.cpp
  failure_test.cpp
  graph_test.cpp
  matrices_test.cpp
  memory_segments_test.cpp
  override_test.cpp
  partition_test.cpp
  parts_test.cpp
  profiler_test.cpp
  rows_test.cpp
  run_into_test.cpp
  share_test.cpp
  stream_test.cpp
  upload_test.cpp)
