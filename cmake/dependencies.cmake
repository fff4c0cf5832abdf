# Third-party packages, each found once here: LLVM 19.1, oneTBB (unless the plain scheduler is asked for), threads.
# Whoever runs `pip install .` sees only CMake's words, so all that is missing is named at once, with the cure.
find_package(Threads REQUIRED)
set(weft_missing)
if(WEFT_SCHEDULER STREQUAL "tbb")
  find_package(TBB QUIET)
  if(NOT TBB_FOUND)
    list(APPEND weft_missing libtbb-dev)
  endif()
endif()

# LLVM's package pulls in FFI, LibEdit and the like only for its own tools; nothing of that is linked here.
list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-19/lib/cmake)
find_path(WEFT_ZLIB_HEADERS zlib.h)
find_path(WEFT_ZSTD_HEADERS zstd.h)
mark_as_advanced(WEFT_ZLIB_HEADERS WEFT_ZSTD_HEADERS)
if(NOT WEFT_ZLIB_HEADERS)
  list(APPEND weft_missing zlib1g-dev)
endif()
if(NOT WEFT_ZSTD_HEADERS)
  list(APPEND weft_missing libzstd-dev)
endif()
find_package(LLVM 19.1 CONFIG QUIET)
if(NOT LLVM_FOUND)
  list(APPEND weft_missing llvm-19-dev)
endif()
if(weft_missing)
  list(JOIN weft_missing " " weft_missing)
  message(FATAL_ERROR
    "Weft needs packages that are not installed: ${weft_missing}\n"
    "On Debian 12 and Ubuntu 24.04:  sudo apt-get install ${weft_missing}\n"
    "Elsewhere, install LLVM 19.1 with its static libraries, oneTBB, zlib and zstd, and name their folders in "
    "CMAKE_PREFIX_PATH.")
endif()
add_library(weft_llvm INTERFACE)
target_include_directories(weft_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(weft_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
list(FILTER weft_llvm_definitions EXCLUDE REGEX "^-D__STDC_")  # for C++98; precompiled headers need the same in all files
target_compile_options(weft_llvm INTERFACE ${weft_llvm_definitions})
if(WEFT_LLVM STREQUAL "shared")
  target_link_libraries(weft_llvm INTERFACE LLVM)
else()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(weft_native_target AArch64)
  else()
    set(weft_native_target X86)
  endif()
  llvm_map_components_to_libnames(weft_llvm_libs
    ${weft_native_target}CodeGen ${weft_native_target}AsmParser ${weft_native_target}Desc ${weft_native_target}Info
    NVPTXCodeGen NVPTXDesc NVPTXInfo OrcJIT JITLink Passes IRReader BitReader Linker)
  target_link_libraries(weft_llvm INTERFACE ${weft_llvm_libs})
  target_link_options(weft_llvm INTERFACE -Wl,--gc-sections -Wl,--exclude-libs,ALL)
endif()
