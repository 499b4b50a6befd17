# Written by ./dev sources.
set(sources
  definition_nodes.cpp
  definitions.cpp
  inputs.cpp
  linalg.cpp
  main.cpp
  models.cpp
  optim.cpp
  quantize.cpp
  rows.cpp
  sessions.cpp
  train_steps.cpp)
