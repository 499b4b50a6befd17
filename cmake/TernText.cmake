# libtern_text.so over libtern.so (TernShared.cmake), from the objects of text/ and generation/.
add_library(libtern_text SHARED $<TARGET_OBJECTS:tern_text> $<TARGET_OBJECTS:tern_generation>)
target_link_libraries(libtern_text PRIVATE tern_options ${TERN_TEXT_LIBRARIES} PUBLIC libtern)
set_target_properties(libtern_text PROPERTIES OUTPUT_NAME tern_text EXPORT_NAME text VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  INSTALL_RPATH "${relocatable}")
tern_shared_library(libtern_text)
add_library(tern::text ALIAS libtern_text)
