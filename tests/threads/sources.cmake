# Written by ./dev sources.
set(sources
  loop_recorder_test.cpp
  openmp_test.cpp
  pieces_test.cpp
  thread_pool_test.cpp
  threads_test.cpp)
