# Deployable libraries, built from the folder libraries up to runtime/.

# DT_RPATH instead of DT_RUNPATH, because it also applies to indirect dependencies: a packed tree works in any folder.
set(relocatable "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

if(TERN_SHARED)
  include(${CMAKE_CURRENT_LIST_DIR}/TernShared.cmake)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/TernStatic.cmake)
# Preferred library of this build.
if(TERN_SHARED)
  add_library(tern::tern ALIAS libtern)
else()
  add_library(tern::tern ALIAS tern_static)
endif()

if(TARGET tern AND NOT WIN32)
  set_target_properties(tern PROPERTIES INSTALL_RPATH "${relocatable}")
  target_link_options(tern PRIVATE -Wl,--disable-new-dtags)
endif()
