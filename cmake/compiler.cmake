# Language level, warnings and the flags that the numerics contract needs.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${WEFT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WEFT_CCACHE})
endif()

# Contraction is a pass of ours: the host compiler must never fuse on its own (docs/design/numerics.md).
add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffp-contract=off -fno-math-errno -fvisibility-inlines-hidden)
# Packages name source files as they lie in the tree, not as they lay on the machine that built them.
if(SKBUILD)
  add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
endif()
if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
endif()

# A fast linker where there is one: LLVM's static libraries are large.
find_program(WEFT_LLD NAMES ld.lld ld.lld-19)
if(WEFT_LLD)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_link_options(--ld-path=${WEFT_LLD})
  elseif(EXISTS /usr/bin/ld.lld AND NOT CMAKE_CROSSCOMPILING)
    add_link_options(-fuse-ld=lld)
  elseif(EXISTS /usr/lib/llvm-19/bin/ld.lld)
    # g++ knows only the plain name ld.lld, which Debian's lld-19 has in LLVM's own folder. A cross compiler does not
    # look in /usr/bin.
    add_link_options(-fuse-ld=lld -B/usr/lib/llvm-19/bin)
  endif()
endif()

# The linker's content hash of the binary is our build id: the cache key's guard against objects of another build.
add_link_options(-Wl,--build-id=sha1)
