# Windows: programs with a manifest, libraries named as the system names them. Other systems: nothing.

# tern_program(TARGET): adds the manifest of UTF-8 and long paths to a program.
function(tern_program target)
  if(WIN32)
    set(manifest ${PROJECT_SOURCE_DIR}/cmake/windows/tern.manifest)
    target_link_options(${target} PRIVATE ${manifest})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${manifest})
  endif()
endfunction()

# tern_shared_library(TARGET): exports TERN_API's names and nothing else. On Windows, TERN_EXPORTS does
# (tern_folder_library).
function(tern_shared_library target)
  if(WIN32)
    set_target_properties(${target} PROPERTIES PREFIX "")  # tern.dll, with the import library libtern.dll.a
    return()
  endif()
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags -Wl,--version-script=${PROJECT_BINARY_DIR}/libtern.map)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/libtern.map)
endfunction()
