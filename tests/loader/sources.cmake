# Written by ./dev sources.
set(sources
  archive_budget_attack_test.cpp
  archive_bytes_test.cpp
  archive_file_test.cpp
  archive_files_test.cpp
  archive_index_attack_test.cpp
  archive_kernels_test.cpp
  archive_program_attack_test.cpp
  archive_round_trip_test.cpp
  archive_segment_attack_test.cpp
  archive_symbol_attack_test.cpp
  archive_tunings_test.cpp
  atomic_file_test.cpp
  hash_test.cpp
  identity_test.cpp
  posix_file_test.cpp
  sample.cpp)
