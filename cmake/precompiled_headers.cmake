# Headers of the standard library and of GoogleTest, read once for all files instead of once for each: more than half of
# the time of a build is spent in them. Presets that a person waits for (dev, asan) turn this on; the others, and packages,
# build without, so that a file that forgot an include is found there.
option(WEFT_PRECOMPILED_HEADERS "Read the standard headers once (dev, asan)" OFF)

set(weft_standard_headers <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstring> <functional> <limits> <map>
  <memory> <mutex> <optional> <span> <string> <string_view> <unordered_map> <unordered_set> <utility> <vector>)

# weft_headers_home(NAME OPTIONS … HEADERS …): a library without code whose precompiled headers other targets share.
# They must be compiled with the same options: -fPIC in libraries, -fPIE in programs.
function(weft_headers_home name)
  cmake_parse_arguments(arg "" "" "OPTIONS;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "// Carries the precompiled headers of ${name}.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# weft_share_headers(TARGET HOME): TARGET is compiled with the precompiled headers of HOME, where there are any.
function(weft_share_headers target home)
  if(WEFT_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${home})
  endif()
endfunction()

if(WEFT_PRECOMPILED_HEADERS)
  # g++ 12 forgets which lines of precompiled headers are the system's and warns of std::string's; other builds ask on.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-array-bounds -Wno-stringop-overread)
  endif()
  weft_headers_home(weft_headers OPTIONS -fPIC HEADERS ${weft_standard_headers})
  # ccache takes such files only where it is told that their dates and unused macros don't matter.
  if(WEFT_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${WEFT_CCACHE})
  endif()
endif()
