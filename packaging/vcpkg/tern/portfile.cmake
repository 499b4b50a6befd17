# An overlay port building its own checkout: vcpkg install tern --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    command TERN_BUILD_EXPORTER
    dnnl TERN_WITH_DNNL
    openblas TERN_WITH_BLAS
    xpu TERN_BUILD_PLUGINS
)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DTERN_SHARED=${shared}
    # vcpkg's LAPACK has no LAPACKE: Tern's own kernels do the linear algebra.
    -DTERN_WITH_LAPACK=OFF
    -DTERN_WITH_HTTPLIB=OFF
    -DTERN_BUILD_ENGINES=OFF
    -DTERN_BUILD_TESTS=OFF
    -DTERN_BUILD_EXAMPLES=OFF
    -DTERN_WERROR=OFF
    "-DFLATC=${CURRENT_HOST_INSTALLED_DIR}/tools/flatbuffers/flatc${VCPKG_HOST_EXECUTABLE_SUFFIX}"
  MAYBE_UNUSED_VARIABLES
    TERN_WITH_HTTPLIB  # used by the command
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tern)
vcpkg_fixup_pkgconfig()
if("command" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES tern AUTO_CLEAN)
endif()
# Pages and examples are in the sources; the triplet selects one of the two libraries.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share" "${CURRENT_PACKAGES_DIR}/share/doc")
if(shared)
  file(REMOVE "${CURRENT_PACKAGES_DIR}/lib/libtern.a" "${CURRENT_PACKAGES_DIR}/debug/lib/libtern.a")
endif()
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
