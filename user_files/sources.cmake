# Written by ./dev sources.
set(sources
  pending_file.cpp
  user_folder.cpp)
