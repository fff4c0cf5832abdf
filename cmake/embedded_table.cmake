# weft_embedded_table(OUTPUT FILE…): a C++ file with the texts of builtin rows (*.def) and library sources (*.py) and the
# index of their names. WEFT_LIBRARY_FILES are those that are shipped.
file(GLOB WEFT_LIBRARY_FILES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/builtins/*.def ${PROJECT_SOURCE_DIR}/src/stdlib/*.py)

function(weft_embedded_table output)
  add_custom_command(OUTPUT ${output} COMMAND weft_embed ${output} ${ARGN} DEPENDS weft_embed ${ARGN}
                     COMMENT "Embedding builtin rows and the standard library")
endfunction()
