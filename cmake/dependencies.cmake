# Third-party packages, each found once here: LLVM 19.1, oneTBB (unless the plain scheduler is asked for), threads.
find_package(Threads REQUIRED)
if(WEFT_SCHEDULER STREQUAL "tbb")
  find_package(TBB REQUIRED)
endif()

# LLVM's package pulls in FFI, LibEdit and the like only for its own tools; nothing of that is linked here.
list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-19/lib/cmake)
find_package(LLVM 19.1 CONFIG REQUIRED)
add_library(weft_llvm INTERFACE)
target_include_directories(weft_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(weft_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
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
