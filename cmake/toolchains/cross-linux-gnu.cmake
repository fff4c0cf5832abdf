# Cross-compiles for another processor's Linux with Debian's and Ubuntu's cross compiler; toolchain files that name the
# processor as weft_processor include this. What is built runs under qemu's user emulation, at build time (weft_embed) and in
# the tests.
#   WEFT_SYSROOT        folder with the packages, as tools/setup/cross_sysroot.sh makes one
#   WEFT_EMULATED_CPU   qemu's name of the processor to emulate (max: everything qemu knows)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${weft_processor})

set(WEFT_SYSROOT "" CACHE PATH "Folder with the packages of the target")
set(WEFT_EMULATED_CPU max CACHE STRING "Processor that the emulator stands for")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_SYSROOT)
if(NOT EXISTS "${WEFT_SYSROOT}/usr/include")
  message(FATAL_ERROR "give -DWEFT_SYSROOT=folder; tools/setup/cross_sysroot.sh makes one")
endif()
set(CMAKE_SYSROOT ${WEFT_SYSROOT})

find_program(CMAKE_C_COMPILER NAMES ${weft_processor}-linux-gnu-gcc ${weft_processor}-linux-gnu-gcc-14 ${weft_processor}-linux-gnu-gcc-13
             ${weft_processor}-linux-gnu-gcc-12 REQUIRED)
find_program(CMAKE_CXX_COMPILER NAMES ${weft_processor}-linux-gnu-g++ ${weft_processor}-linux-gnu-g++-14 ${weft_processor}-linux-gnu-g++-13
             ${weft_processor}-linux-gnu-g++-12 REQUIRED)
find_program(WEFT_EMULATOR NAMES qemu-${weft_processor}-static qemu-${weft_processor} REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR ${WEFT_EMULATOR} -cpu ${WEFT_EMULATED_CPU} -L ${WEFT_SYSROOT})

# Programs are the host's, everything else the target's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
