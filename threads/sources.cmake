# Written by ./dev sources.
set(sources
  thread_pool.cpp
  threads.cpp)
