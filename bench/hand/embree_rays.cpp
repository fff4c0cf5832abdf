// Embree's side of bench/python/geometry.py: a mesh's tree, built for robust intersection, and single rays through it by as
// many threads as asked. A library of its own, built when that program runs on a machine that has Embree.
#if __has_include(<embree4/rtcore.h>)
#include <embree4/rtcore.h>
#else
#include <embree3/rtcore.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Scene {
  RTCDevice device;
  RTCScene scene;
};

void intersect(RTCScene scene, RTCRayHit& ray) {
#if RTC_VERSION_MAJOR >= 4
  rtcIntersect1(scene, &ray);
#else
  RTCIntersectContext context;
  rtcInitIntersectContext(&context);
  rtcIntersect1(scene, &context, &ray);
#endif
}

}  // namespace

extern "C" {

Scene* embree_build(const float* points, std::int64_t point_count, const std::int32_t* indices, std::int64_t faces,
                    int threads) {
  RTCDevice device = rtcNewDevice(("threads=" + std::to_string(threads)).c_str());
  RTCScene scene = rtcNewScene(device);
  rtcSetSceneFlags(scene, RTC_SCENE_FLAG_ROBUST);
  RTCGeometry mesh = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
  rtcSetSharedGeometryBuffer(mesh, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, points, 0, 12,
                             std::size_t(point_count));
  rtcSetSharedGeometryBuffer(mesh, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, indices, 0, 12, std::size_t(faces));
  rtcCommitGeometry(mesh);
  rtcAttachGeometry(scene, mesh);
  rtcReleaseGeometry(mesh);
  rtcCommitScene(scene);
  return new Scene{device, scene};
}

void embree_drop(Scene* scene) {
  rtcReleaseScene(scene->scene);
  rtcReleaseDevice(scene->device);
  delete scene;
}

void embree_rays(Scene* scene, const float* starts, const float* directions, std::int64_t count, std::int32_t* faces,
                 float* t, int threads) {
  constexpr std::int64_t chunk = 4096;
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    for (std::int64_t from; (from = next.fetch_add(chunk)) < count;)
      for (std::int64_t i = from; i < std::min(count, from + chunk); ++i) {
        RTCRayHit ray{};
        ray.ray.org_x = starts[3 * i];
        ray.ray.org_y = starts[3 * i + 1];
        ray.ray.org_z = starts[3 * i + 2];
        ray.ray.dir_x = directions[3 * i];
        ray.ray.dir_y = directions[3 * i + 1];
        ray.ray.dir_z = directions[3 * i + 2];
        ray.ray.tfar = std::numeric_limits<float>::infinity();
        ray.ray.mask = ~0U;
        ray.hit.geomID = ray.hit.primID = ray.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
        intersect(scene->scene, ray);
        const bool hit = ray.hit.geomID != RTC_INVALID_GEOMETRY_ID;
        faces[i] = hit ? std::int32_t(ray.hit.primID) : -1;
        t[i] = hit ? ray.ray.tfar : 0.0F;
      }
  };
  std::vector<std::thread> pool;
  for (int k = 1; k < threads; ++k) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
}
}
