# nvPTXCompiler, a static library of CUDA's toolkit that turns PTX into machine code: used in place of the driver's own
# compiler where it is found. Sets weft_nvptxcompiler to its path, empty for none.
set(WEFT_NVPTXCOMPILER AUTO CACHE STRING "Link nvPTXCompiler: AUTO (if it is found), ON or OFF")
set_property(CACHE WEFT_NVPTXCOMPILER PROPERTY STRINGS AUTO ON OFF)
set(weft_nvptxcompiler "")
if(WEFT_NVPTXCOMPILER STREQUAL "AUTO" AND CMAKE_CROSSCOMPILING)
  return()  # a toolkit that is installed here is for this machine
endif()
if(WEFT_NVPTXCOMPILER)
  find_package(Python3 3.10 COMPONENTS Interpreter QUIET)
  find_library(WEFT_NVPTXCOMPILER_LIBRARY nvptxcompiler_static
    HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda ${Python3_SITELIB}/nvidia/cu13
    PATH_SUFFIXES lib64 lib targets/${CMAKE_SYSTEM_PROCESSOR}-linux/lib)
  mark_as_advanced(WEFT_NVPTXCOMPILER_LIBRARY)
endif()
if(WEFT_NVPTXCOMPILER_LIBRARY AND WEFT_NVPTXCOMPILER)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES ${WEFT_NVPTXCOMPILER_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})
  check_cxx_source_compiles(
    "extern \"C\" int nvPTXCompilerGetVersion(unsigned*, unsigned*);
     int main() { unsigned major, minor; return nvPTXCompilerGetVersion(&major, &minor); }" WEFT_NVPTXCOMPILER_LINKS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(WEFT_NVPTXCOMPILER_LINKS)
    set(weft_nvptxcompiler ${WEFT_NVPTXCOMPILER_LIBRARY})
    message(STATUS "PTX is compiled by nvPTXCompiler: ${weft_nvptxcompiler}")
  endif()
endif()
if(WEFT_NVPTXCOMPILER STREQUAL "ON" AND NOT weft_nvptxcompiler)
  message(FATAL_ERROR "WEFT_NVPTXCOMPILER=ON, but libnvptxcompiler_static.a was not found, or does not link.\n"
    "It comes with CUDA's toolkit (CUDA_HOME), or:  ${Python3_EXECUTABLE} -m pip install nvidia-nvptxcompiler\n"
    "Any other place: -DWEFT_NVPTXCOMPILER_LIBRARY=/…/libnvptxcompiler_static.a")
endif()
