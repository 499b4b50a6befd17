# Written by ./dev sources.
set(sources
  fork_test.cpp
  loop_recorder_test.cpp
  openmp_test.cpp
  pieces_test.cpp
  thread_pool_test.cpp
  threads_test.cpp)
