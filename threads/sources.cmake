# Written by ./dev sources.
set(sources
  loop_recorder.cpp
  thread_pool.cpp
  threads.cpp)
