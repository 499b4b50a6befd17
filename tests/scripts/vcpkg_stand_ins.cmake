# Stand-ins for the functions of vcpkg that packaging/vcpkg/tern/portfile.cmake calls, for CMake's script mode:
# cmake -DFEATURES=... -DVCPKG_LIBRARY_LINKAGE=dynamic -DINSTALLED=BUILD -DWORK=FOLDER -P vcpkg_stand_ins.cmake
# Configuring is real: an option that the project does not know is an error. What is installed is a build that exists.
cmake_minimum_required(VERSION 3.25)
set(PORT tern)
set(CURRENT_PACKAGES_DIR ${WORK}/packages)
set(CURRENT_HOST_INSTALLED_DIR ${WORK}/host)
get_filename_component(CURRENT_PORT_DIR ${CMAKE_CURRENT_LIST_DIR}/../../packaging/vcpkg/tern ABSOLUTE)
find_program(flatc flatc REQUIRED)
file(MAKE_DIRECTORY ${CURRENT_HOST_INSTALLED_DIR}/tools/flatbuffers)
file(CREATE_LINK ${flatc} ${CURRENT_HOST_INSTALLED_DIR}/tools/flatbuffers/flatc SYMBOLIC)

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" OUT_FEATURE_OPTIONS FEATURES)
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    set(on OFF)
    if(feature IN_LIST FEATURES)
      set(on ON)
    endif()
    list(APPEND options -D${option}=${on})
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH "OPTIONS;MAYBE_UNUSED_VARIABLES")
  execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${arg_SOURCE_PATH} -B ${WORK}/build -DCMAKE_BUILD_TYPE=Release ${arg_OPTIONS}
    OUTPUT_VARIABLE said ERROR_VARIABLE warned COMMAND_ERROR_IS_FATAL ANY)
  foreach(variable IN LISTS arg_MAYBE_UNUSED_VARIABLES)
    string(REGEX REPLACE "\n *${variable}\n" "\n" warned "${warned}")
  endforeach()
  if(warned MATCHES "not used by the project:.*TERN|not used by the project:.*FLATC")
    message(FATAL_ERROR "The project does not know an option of the portfile: ${warned}")
  endif()
endfunction()

function(vcpkg_cmake_install)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${INSTALLED} --prefix ${CURRENT_PACKAGES_DIR} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" CONFIG_PATH "")
  file(COPY ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/ DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT})
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake)
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_copy_tools)
  cmake_parse_arguments(PARSE_ARGV 0 arg AUTO_CLEAN "" TOOL_NAMES)
  foreach(name IN LISTS arg_TOOL_NAMES)
    file(COPY ${CURRENT_PACKAGES_DIR}/bin/${name} DESTINATION ${CURRENT_PACKAGES_DIR}/tools/${PORT})
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" FILE_LIST)
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT})
endfunction()

include(${CURRENT_PORT_DIR}/portfile.cmake)
