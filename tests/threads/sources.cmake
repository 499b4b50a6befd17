# Written by ./dev sources.
set(sources
  thread_pool_test.cpp
  threads_test.cpp)
