# Written by ./dev sources.
set(sources
  program_cache_attack_test.cpp
  program_cache_test.cpp
  user_folder_test.cpp)
