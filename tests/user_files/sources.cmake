# Written by ./dev sources.
set(sources
  program_cache_test.cpp
  user_folder_test.cpp)
