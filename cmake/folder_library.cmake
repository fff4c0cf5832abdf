# weft_folder(NAME [DEPS …]): the static library weft_NAME from every .cpp in the current folder and below.
# A folder may only depend on folders to its left in the layer order; tools/checks/check_layers enforces the includes.
function(weft_folder name)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(weft_${name} STATIC ${sources})
  target_include_directories(weft_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  weft_share_headers(weft_${name} weft_headers)
  foreach(dep ${arg_DEPS})
    target_link_libraries(weft_${name} PUBLIC weft_${dep})
  endforeach()
endfunction()
