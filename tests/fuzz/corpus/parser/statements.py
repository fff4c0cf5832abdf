if a: b; c
elif d:
    e
else: f
for g, (h, i) in j, k:
	l
else:
	m
while n: break
else: continue
try:
    o
except (P, Q) as r:
    s
else:
    t
finally:
    u
with v as w, (x) as y:
    z
match a:
    case [b, *_] if c:
        d
    case _: pass
async def e(): await f
@g.h(i)
@j
def k[T](l: T) -> T: return l
class M(N, metaclass=O): pass
def p(a, /, b: c = d, *e, f, g=h, **i): nonlocal j; global k; del l; raise m from n
from .. import a as b, c
from d.e import (f, g as h,)
import i.j as k, l
type X = int
return \
    a
