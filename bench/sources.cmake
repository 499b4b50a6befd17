# Written by ./dev sources.
set(sources
  main.cpp
  models.cpp)
