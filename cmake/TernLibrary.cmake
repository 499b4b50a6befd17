# The libraries that people deploy, made of the folder libraries up to runtime/.

# DT_RPATH rather than DT_RUNPATH: it also serves what our libraries need in turn, so a packed tree works wherever it lies.
set(relocatable "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

if(TERN_SHARED)
  include(${CMAKE_CURRENT_LIST_DIR}/TernShared.cmake)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/TernStatic.cmake)
# The library that this build offers first.
if(TERN_SHARED)
  add_library(tern::tern ALIAS libtern)
else()
  add_library(tern::tern ALIAS tern_static)
endif()

if(TARGET tern)
  set_target_properties(tern PROPERTIES INSTALL_RPATH "${relocatable}")
  target_link_options(tern PRIVATE -Wl,--disable-new-dtags)
endif()
