# Written by ./dev sources.
set(sources
  file_test.cpp
  folder_test.cpp
  memory_test.cpp
  process_test.cpp
  run_process_test.cpp)
