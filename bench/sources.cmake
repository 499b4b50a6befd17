# Written by ./dev sources.
set(sources
  inputs.cpp
  main.cpp
  models.cpp
  sessions.cpp)
