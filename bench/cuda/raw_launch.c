/* A loop of bare launches, for bench/python/gpu.py: what a launch costs if nobody but the driver has anything to do. */
#include <stddef.h>
#include <time.h>

typedef int (*Launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                      void**);

double seconds_of_launches(Launch launch, void* function, void* stream, void* block, size_t bytes, int count) {
  void* extra[] = {(void*)1, block, (void*)2, &bytes, NULL};
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < count; ++i)
    if (launch(function, 1, 1, 1, 256, 1, 1, 0, stream, NULL, extra) != 0) return -1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
}
