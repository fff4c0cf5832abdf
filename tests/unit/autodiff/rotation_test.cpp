// Derivatives of the library's quaternion, transform, spatial and edge functions against differences, also where an
// angle or a length is zero: there they must be finite, and right where the function is smooth.
#include "gradient_check.h"

namespace weft::autodiff::test {
namespace {

constexpr double kHalf = 0.70710678118654752;

Check rotation(const std::string& lines) {
  Check check;
  check.text =
      "@wp.kernel\ndef k(x: wp.array(dtype=wp.quatd), y: wp.array(dtype=wp.quatd), z: wp.array(dtype=wp.vec3d), "
      "s: wp.array(dtype=d), out: wp.array(dtype=d), out_v: wp.array(dtype=wp.vec3d), "
      "out_q: wp.array(dtype=wp.quatd), out_m: wp.array(dtype=wp.mat33d), out_t: wp.array(dtype=wp.mat44d)):\n"
      "    i = wp.tid()\n    p = x[i]\n    q = y[i]\n    a = z[i]\n    t = s[i]\n    " +
      lines + "\n";
  check.dims = {3};
  check.floats["x"] = {0.5, -0.3, 0.6, 0.55, -0.2, 0.7, 0.1, -0.67, 0.4, 0.33, -0.8, 0.2};
  check.floats["y"] = {0.1, 0.2, -0.7, 0.68, 0.6, 0.3, 0.7, 0.2, -0.5, 0.1, 0.2, -0.83};
  check.floats["s"] = {0.3, 0.8, -0.4};
  return check;
}

class Rotation : public ::testing::TestWithParam<const char*> {};
TEST_P(Rotation, AgreesWithDifferences) { expect_gradient(rotation(GetParam())); }
INSTANTIATE_TEST_SUITE_P(
    All, Rotation,
    ::testing::Values("v, w = wp.quat_to_axis_angle(p)\n    out_v[i] = v\n    out[i] = w",
                      "out_m[i] = wp.quat_to_matrix(p)",
                      "out_q[i] = wp.quat_from_matrix(wp.quat_to_matrix(wp.normalize(p)))",
                      "out_q[i] = wp.quat_rpy(a[0], a[1], a[2])", "out_v[i] = wp.quat_to_rpy(p)",
                      "out_q[i] = wp.quat_from_euler(a, 2, 0, 1)", "out_v[i] = wp.quat_to_euler(p, 1, 2, 0)",
                      "out_v[i] = wp.quat_to_euler(p, 1, 2, 1)", "out_q[i] = wp.quat_slerp(p, q, t)",
                      "out_q[i] = wp.quat_twist(a, q)", "out[i] = wp.quat_twist_angle(a, q)",
                      "out[i] = wp.quat_twist_angle_signed(a, q)", "out_v[i] = wp.quat_rotate_inv(p, a)",
                      "out_t[i] = wp.transform_compose(a, p, a)",
                      "u, r, v = wp.transform_decompose(wp.transform_compose(a, wp.normalize(p), a * a[0] + a))\n"
                      "    out_v[i] = v + u\n    out_q[i] = r",
                      "m = wp.transform_from_matrix(wp.transform_to_matrix(wp.transformd(a, p)))\n"
                      "    out_v[i] = wp.transform_point(wp.transform_inverse(m), a)",
                      "v = wp.transform_twist(wp.transformd(a, p), wp.spatial_vectord(a, a * t))\n"
                      "    f = wp.transform_wrench(wp.transformd(a, q), wp.spatial_cross_dual(v, v * t))\n"
                      "    out[i] = wp.spatial_dot(v, f)\n    out_v[i] = wp.velocity_at_point(v, a)",
                      "m = wp.transformd(a, p)\n    wp.transform_set_translation(m, a * t)\n"
                      "    wp.transform_set_rotation(m, q)\n    out_v[i] = wp.transform_point(m, a)",
                      "e = wp.vec3d(t, d(2.0), d(1.0))\n"
                      "    out_v[i] = wp.closest_point_edge_edge(a, e, wp.vec3d(q[0], q[1], q[2]), a * t, d(0.0))"));

/// All four columns that quat_from_matrix chooses from.
TEST(RotationMatrices, EveryColumn) {
  Check check = rotation("out_q[i] = wp.quat_from_matrix(wp.quat_to_matrix(p))");
  check.dims = {4};
  check.floats["x"] = {0.9, 0.2, 0.3, 0.24, 0.2, 0.9, 0.3, 0.24, 0.2, 0.3, 0.9, 0.24, 0.2, 0.3, 0.24, 0.9};
  check.floats["y"] = std::vector<double>(16, 0.5);
  check.floats["s"] = {1, 1, 1, 1};
  expect_gradient(check);
}

class Corner : public ::testing::TestWithParam<const char*> {};
TEST_P(Corner, IsFiniteAndRight) {
  Check check = rotation(GetParam());
  // No rotation, with both signs; a half turn: where lengths, angles or denominators are zero.
  check.floats["x"] = {0, 0, 0, 1, 0, 0, 0, -1, 0, kHalf, 0, kHalf};
  check.floats["y"] = check.floats["x"];
  check.floats["z"] = {0, 0, 1, 1, 0, 0, 0, 0, 1};
  expect_gradient(check);
}
INSTANTIATE_TEST_SUITE_P(All, Corner,
                         ::testing::Values("out_q[i] = wp.quat_slerp(p, q, t)",
                                           "v, w = wp.quat_to_axis_angle(p)\n    out[i] = w * w",
                                           "out[i] = wp.quat_twist_angle_signed(a, wp.quatd(p[0], p[1], p[2], d(1.0)))",
                                           "v = wp.closest_point_edge_edge(a, -a, a * t, wp.vec3d(t, t, t), d(0.0))\n"
                                           "    out[i] = v[2] * v[2]",
                                           "out_q[i] = wp.quat_twist(a, wp.quatd(p[0], p[1], p[2], d(1.0)))",
                                           "out_q[i] = wp.quat_from_matrix(wp.quat_to_matrix(p))"));

}  // namespace
}  // namespace weft::autodiff::test
