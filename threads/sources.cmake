# Written by ./dev sources.
set(sources
  absent/openmp.cpp
  loop_recorder.cpp
  openmp/openmp.cpp
  thread_pool.cpp
  threads.cpp)
