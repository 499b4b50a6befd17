# Written by ./dev sources.
set(sources
  temporary_file.cpp
  user_folder.cpp)
