# `cmake --install build/dev --component cpp --prefix DIR`: libweft, its headers, and what find_package(weft) and pkg-config
# read. Files name each other by relative paths, so the folder can be moved.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(weft_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
set(weft_pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Libraries outside of the system's folders (LLVM as a shared library, for one) are found again where they were.
set_target_properties(weft PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS weft EXPORT weft_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp
        NAMELINK_COMPONENT cpp)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft DESTINATION include COMPONENT cpp)
install(EXPORT weft_targets NAMESPACE weft:: DESTINATION ${weft_cmake_folder} COMPONENT cpp)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weft-config.cmake.in ${CMAKE_BINARY_DIR}/weft-config.cmake
  INSTALL_DESTINATION ${weft_cmake_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weft-config.cmake ${CMAKE_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${weft_cmake_folder} COMPONENT cpp)

file(RELATIVE_PATH weft_prefix /x/${weft_pkgconfig_folder} /x)
configure_file(${CMAKE_CURRENT_LIST_DIR}/weft.pc.in ${CMAKE_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc DESTINATION ${weft_pkgconfig_folder} COMPONENT cpp)
