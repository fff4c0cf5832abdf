# Tests in an emulator, when cross-compiling.
# ${weft_tenfold} stands after a test's time limit, which is ten times as long in an emulator.
if(CMAKE_CROSSCOMPILING)
  set(weft_tenfold 0)
endif()

# weft_program(VARIABLE TARGET): sets VARIABLE to a path that scripts and other tests can run to get TARGET: the program
# itself or, when cross-compiling, a script that starts it in the emulator. (CMake starts the emulator by itself only
# where a target is the command of a test or a build step.)
function(weft_program variable target)
  if(NOT CMAKE_CROSSCOMPILING)
    set(${variable} $<TARGET_FILE:${target}> PARENT_SCOPE)
    return()
  endif()
  set(script ${CMAKE_BINARY_DIR}/emulated/${target})
  get_property(made GLOBAL PROPERTY weft_emulated_${target})
  if(NOT made)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR "' '" emulator)
    file(GENERATE OUTPUT ${script} CONTENT "#!/bin/sh\nexec '${emulator}' '$<TARGET_FILE:${target}>' \"$@\"\n"
         FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    set_property(GLOBAL PROPERTY weft_emulated_${target} TRUE)
  endif()
  set(${variable} ${script} PARENT_SCOPE)
endfunction()
