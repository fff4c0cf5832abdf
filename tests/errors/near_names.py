# A misspelt builtin is answered with the name that was meant, where one is near.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def k(v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i] = wp.nomalize(v[i])
    v[i] = wp.unheard_of(v[i])


# CHECK:{{^}}near_names.py:9:12: error: `nomalize` is not an attribute of 'wp' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        v[i] = wp.nomalize(v[i]){{$}}
# CHECK-NEXT:{{^}}               ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: did you mean 'normalize'? Could not find function wp.nomalize{{$}}
# CHECK-NEXT:{{^}}near_names.py:10:12: error: `unheard_of` is not an attribute of 'wp' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        v[i] = wp.unheard_of(v[i]){{$}}
# CHECK-NEXT:{{^}}               ^~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: Could not find function wp.unheard_of{{$}}
# CHECK-NOT:{{error|warning}}:
