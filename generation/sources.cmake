# Written by ./dev sources.
set(sources
  answer_state.cpp
  engine.cpp
  facts.cpp
  generation_config.cpp
  sampler.cpp
  sequence.cpp
  slot_runner.cpp
  slot_table.cpp
  stop_texts.cpp)
