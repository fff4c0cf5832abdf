# For x86-64. qemu knows AVX2, not AVX-512; WEFT_EMULATED_CPU=Nehalem has SSE alone.
set(weft_processor x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/cross-linux-gnu.cmake)
