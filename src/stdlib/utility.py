# Expectations that print when they are not met, and the forms of division and inversion that may be less exact.


def _print_expected(a, b):
    print("\t Expected:", b)
    print("\t Actual:", a)


def expect_eq(a, b):
    if a != b:
        print("Error, expect_eq() failed:")
        _print_expected(a, b)


def expect_neq(a, b):
    if a == b:
        print("Error, expect_neq() failed:")
        _print_expected(a, b)


def _print_not_near(a, b, tolerance):
    print("Error, expect_near() failed with tolerance", tolerance)
    print("    Expected:", b)
    print("    Actual:", a)


def expect_near(a, b, tolerance):
    difference = abs(a - b)
    if difference > tolerance:
        _print_not_near(a, b, tolerance)
        print("    Absolute difference:", difference)


def _expect_near_each(a, b, tolerance):
    difference = abs(a[0] - b[0])
    for i in range(1, len(a)):
        difference = max(difference, abs(a[i] - b[i]))
    if difference > tolerance:
        _print_not_near(a, b, tolerance)
        print("    Max absolute difference:", difference)


def _expect_near_mat(a, b, tolerance):
    difference = abs(a[0, 0] - b[0, 0])
    for i in range(len(a)):
        for j in range(len(a[0])):
            difference = max(difference, abs(a[i, j] - b[i, j]))
    if difference > tolerance:
        _print_not_near(a, b, tolerance)
        print("    Max absolute difference:", difference)


def _div_approx(a, b):
    return a / b


def inverse_approx(a):
    return inverse(a)
