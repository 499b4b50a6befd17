# libtern.so, with the C++ and C interfaces and nothing else visible.
add_library(libtern SHARED ${CMAKE_CURRENT_LIST_DIR}/libtern.cpp)
# Links the objects of whole folders: nothing inside the library refers to the public functions.
foreach(folder IN ITEMS tern_runtime tern_loader tern_schema tern_dtypes)
  target_sources(libtern PRIVATE $<TARGET_OBJECTS:${folder}>)
  target_link_libraries(libtern PRIVATE ${folder})
endforeach()
target_compile_features(libtern INTERFACE cxx_std_20)
target_include_directories(libtern INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Before 1.0 a minor version may change the interface.
set_target_properties(libtern PROPERTIES OUTPUT_NAME tern EXPORT_NAME tern VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH "${relocatable}")

configure_file(${CMAKE_CURRENT_LIST_DIR}/libtern.map.in ${PROJECT_BINARY_DIR}/libtern.map @ONLY)
tern_shared_library(libtern)
if(WIN32)  # the linker fails if the library lacks a function of the C interface
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/tern_c_api.symbols)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/tern_c_api.symbols symbols)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/tern.def CONTENT "EXPORTS\n${symbols}")
  target_sources(libtern PRIVATE ${PROJECT_BINARY_DIR}/tern.def)
endif()
# Merges functions with equal code: templates over types of one size.
if(TERN_MOLD)
  target_link_options(libtern PRIVATE -Wl,--icf=all)
endif()
if(NOT TERN_SANITIZE AND NOT WIN32)
  target_link_options(libtern PRIVATE -Wl,-z,defs)
endif()
