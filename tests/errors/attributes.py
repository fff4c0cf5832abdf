# Attributes and components that are not there.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp

N = 3


@wp.struct
class Particle:
    mass: float
    pos: wp.vec3


class Config:
    LIMIT = 3


@wp.kernel
def attributes(out: wp.array(dtype=float), v: wp.vec3, m: wp.mat33, t: wp.transform, q: wp.quat, p: Particle):
    out[0] = v.xy
    out[1] = v.w
    out[2] = m.x
    out[3] = t.z
    out[4] = q.v
    out[5] = out.strides
    out[6] = N.foo
    out[7] = p.weight
    out[8] = float(Config.SIZE)
    v.q = 1.0
    p.pos.w = 1.0

# CHECK:{{^}}attributes.py:20:14: error: vec3f has no attribute 'xy' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[0] = v.xy{{$}}
# CHECK-NEXT:{{^}}                 ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: components are single letters (x, y, z, w) or indices; several at once need a slice{{$}}
# CHECK-NEXT:{{^}}attributes.py:21:14: error: vec3f has no attribute 'w' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[1] = v.w{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}    note: components are single letters (x, y, z, w) or indices; several at once need a slice{{$}}
# CHECK-NEXT:{{^}}attributes.py:22:14: error: mat33f has no attribute 'x' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[2] = m.x{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}attributes.py:23:14: error: transformf has no attribute 'z' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[3] = t.z{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}attributes.py:24:14: error: quatf has no attribute 'v' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[4] = q.v{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}    note: components are single letters (x, y, z, w) or indices; several at once need a slice{{$}}
# CHECK-NEXT:{{^}}attributes.py:25:14: error: array(dtype=float32) has no attribute 'strides' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[5] = out.strides{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}attributes.py:26:14: error: int32 has no attribute 'foo' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[6] = N.foo{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~{{$}}
# CHECK-NEXT:{{^}}attributes.py:27:14: error: Particle has no attribute 'weight' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[7] = p.weight{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: its fields are mass, pos{{$}}
# CHECK-NEXT:{{^}}attributes.py:28:20: error: there is no 'SIZE' in 'Config' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[8] = float(Config.SIZE){{$}}
# CHECK-NEXT:{{^}}                       ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}attributes.py:29:5: error: vec3f has no attribute 'q' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        v.q = 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~{{$}}
# CHECK-NEXT:{{^}}    note: components are single letters (x, y, z, w) or indices; several at once need a slice{{$}}
# CHECK-NEXT:{{^}}attributes.py:30:5: error: vec3f has no attribute 'w' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        p.pos.w = 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: components are single letters (x, y, z, w) or indices; several at once need a slice{{$}}
# CHECK-NOT:{{error|warning}}:
