# Written by ./dev sources.
set(sources
  engine_test.cpp
  grammar_test.cpp
  sampler_test.cpp
  slot_runner_test.cpp
  slot_table_test.cpp
  stop_texts_test.cpp)
