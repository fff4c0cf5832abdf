// Placeholder replaced below.
#include <gtest/gtest.h>
TEST(X, Y) {}
