# For aarch64. WEFT_EMULATED_CPU=cortex-a72 has plain NEON.
set(weft_processor aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/cross-linux-gnu.cmake)
