# Written by ./dev sources.
set(sources
  embedder_test.cpp
  engine_test.cpp
  grammar_test.cpp
  sampler_test.cpp
  slot_runner_test.cpp
  slot_table_test.cpp
  speculation_test.cpp
  stop_texts_test.cpp)
