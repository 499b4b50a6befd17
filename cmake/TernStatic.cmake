# libtern.a: all objects of the library in one archive. Programs link only the objects they use, plus the libraries
# below.
add_library(tern_static STATIC ${CMAKE_CURRENT_LIST_DIR}/libtern.cpp)
add_library(tern::static ALIAS tern_static)
foreach(folder IN ITEMS runtime compiled loader kernels schema dtypes threads user_files platform)
  target_sources(tern_static PRIVATE $<TARGET_OBJECTS:tern_${folder}>)
endforeach()
target_compile_features(tern_static INTERFACE cxx_std_20)
target_include_directories(tern_static INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Windows: -ltern finds the import library of tern.dll.
set_target_properties(tern_static PROPERTIES OUTPUT_NAME $<IF:$<BOOL:${WIN32}>,tern_static,tern> EXPORT_NAME static
  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

# Found targets inside this build; library names for installed programs.
set(TERN_STATIC_LIBRARIES fmt xxhash zstd ${OpenMP_CXX_LIB_NAMES} ${CMAKE_DL_LIBS})
if(WIN32)
  list(APPEND TERN_STATIC_LIBRARIES advapi32 ole32 shell32 ws2_32)  # platform/CMakeLists.txt
  target_link_libraries(tern_static INTERFACE $<BUILD_INTERFACE:advapi32;ole32;shell32;ws2_32>)
endif()
target_link_libraries(tern_static INTERFACE
  "$<BUILD_INTERFACE:fmt::fmt;PkgConfig::xxhash;PkgConfig::zstd;$<IF:$<BOOL:${TERN_OPENMP}>,OpenMP::OpenMP_CXX,Threads::Threads>>")
if(TERN_DNNL)
  list(APPEND TERN_STATIC_LIBRARIES dnnl)
  target_link_libraries(tern_static INTERFACE $<BUILD_INTERFACE:${DNNL_LIBRARY}>)
endif()
if(TERN_LAPACK)
  list(APPEND TERN_STATIC_LIBRARIES lapacke)
  target_link_libraries(tern_static INTERFACE $<BUILD_INTERFACE:${LAPACKE_LIBRARY}>)
endif()
if(TERN_BLAS)
  list(APPEND TERN_STATIC_LIBRARIES openblas)
  target_link_libraries(tern_static INTERFACE $<BUILD_INTERFACE:${OPENBLAS_LIBRARY}>)
endif()
set(TERN_STATIC_FILES ${TERN_STATIC_LIBRARIES})
if(TERN_CROSS_FOLDER)  # installed beside libtern.a
  list(TRANSFORM TERN_STATIC_FILES REPLACE "^(fmt|xxhash|zstd)$"
    "$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/${CMAKE_STATIC_LIBRARY_PREFIX}\\1${CMAKE_STATIC_LIBRARY_SUFFIX}")
endif()
target_link_libraries(tern_static INTERFACE
  "$<INSTALL_INTERFACE:${TERN_STATIC_FILES}>" $<BUILD_INTERFACE:${CMAKE_DL_LIBS}>)
