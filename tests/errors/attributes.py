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

# CHECK:{{^}}attributes.py:20:14: error: `xy` is not an attribute of 'v' (vec3f) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[0] = v.xy{{$}}
# CHECK-NEXT:{{^}}                 ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: components are single letters (x, y, z, w) or indices; several at once need a slice{{$}}
# CHECK-NEXT:{{^}}attributes.py:21:14: error: `w` is not an attribute of 'v' (vec3f) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[1] = v.w{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}    note: components are single letters (x, y, z, w) or indices; several at once need a slice{{$}}
# CHECK-NEXT:{{^}}attributes.py:22:14: error: `x` is not an attribute of 'm' (mat33f) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[2] = m.x{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}attributes.py:23:14: error: `z` is not an attribute of 't' (transformf) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[3] = t.z{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}attributes.py:24:14: error: `v` is not an attribute of 'q' (quatf) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[4] = q.v{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}    note: components are single letters (x, y, z, w) or indices; several at once need a slice{{$}}
# CHECK-NEXT:{{^}}attributes.py:25:14: error: `strides` is not an attribute of 'out' (array(dtype=float32)) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[5] = out.strides{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}attributes.py:26:14: error: `foo` is not an attribute of int32 [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[6] = N.foo{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~{{$}}
# CHECK-NEXT:{{^}}attributes.py:27:14: error: `weight` is not an attribute of 'p' (Particle) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[7] = p.weight{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: its fields are mass, pos{{$}}
# CHECK-NEXT:{{^}}attributes.py:28:20: error: `SIZE` is not an attribute of 'Config' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[8] = float(Config.SIZE){{$}}
# CHECK-NEXT:{{^}}                       ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: Could not find function Config.SIZE{{$}}
# CHECK-NEXT:{{^}}attributes.py:29:5: error: `q` is not an attribute of 'v' (vec3f) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        v.q = 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~{{$}}
# CHECK-NEXT:{{^}}    note: components are single letters (x, y, z, w) or indices; several at once need a slice{{$}}
# CHECK-NEXT:{{^}}attributes.py:30:5: error: `w` is not an attribute of 'p.pos' (vec3f) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        p.pos.w = 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: components are single letters (x, y, z, w) or indices; several at once need a slice{{$}}
# CHECK-NOT:{{error|warning}}:
