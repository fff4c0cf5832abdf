# Loops with every way out, else, steps, short circuit, ternaries, values that one path leaves unassigned.
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel forelse --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=FORELSE
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel nested --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=NESTED
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel rev --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=REV
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel negstep --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=NEGSTEP
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel dynstep --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=DYNSTEP
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel while_loop --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=WHILE_LOOP
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel leave_early --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=LEAVE_EARLY
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel tern --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=TERN
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel short --dim 8 --print out \
# RUN: 'a=zeros(8)' 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=SHORT
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel maybe --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=MAYBE
import warp as wp


@wp.func
def early(x: int):
    for i in range(10):
        if i == x:
            return float(i)
        for j in range(3):
            if i * j > 5:
                return 50.0
    return 100.0


@wp.kernel
def forelse(out: wp.array(dtype=float)):
    i = wp.tid()
    found = float(0.0)
    for j in range(10):
        if j * 2 == i + 4 + i:
            break
        if i >= 3:
            found = 0.0
            if j == 5:
                break
    else:
        found = 1.0
    if i < 3:
        found = 1.0
    out[i] = found
# FORELSE: {{^}}out = [1, 1, 1, 0, 0, 0, 0, 0]{{$}}
# FORELSE-NOT: out


@wp.kernel
def nested(out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for a in range(5):
        if a == 3 and i == 0:
            break
        for b in range(5):
            if b > a:
                continue
            if a + b > i:
                break
            s += float(a + b)
        s += 0.0
    k = int(0)
    while True:
        k += 1
        if k > i:
            break
        if k % 2 == 0:
            continue
        s += 1.0
    out[i] = s
# NESTED: {{^}}out = [0, 2, 6, 13, 25, 36, 48, 56]{{$}}
# NESTED-NOT: out


@wp.kernel
def rev(out: wp.array(dtype=float)):
    n = int(0)
    for j in reversed(range(1, 10, 2)):
        out[n] = float(j)
        n += 1
# REV: {{^}}out = [9, 7, 5, 3, 1, 0, 0, 0]{{$}}
# REV-NOT: out


@wp.kernel
def negstep(out: wp.array(dtype=float)):
    n = int(0)
    for j in range(10, 0, -3):
        out[n] = float(j)
        n += 1
# NEGSTEP: {{^}}out = [10, 7, 4, 1, 0, 0, 0, 0]{{$}}
# NEGSTEP-NOT: out


@wp.kernel
def dynstep(out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(0, 10, i):
        s += float(j)
    out[i] = s
# DYNSTEP: {{^}}out = [0, 45, 20, 18, 12, 5, 6, 7]{{$}}
# DYNSTEP-NOT: out


@wp.kernel
def while_loop(out: wp.array(dtype=float)):
    i = wp.tid()
    n = int(i)
    while n < 5:
        n += 1
    else:
        n += 0
    out[i] = float(n)
# WHILE_LOOP: {{^}}out = [5, 5, 5, 5, 5, 5, 6, 7]{{$}}
# WHILE_LOOP-NOT: out


@wp.kernel
def leave_early(out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = early(i)
# LEAVE_EARLY: {{^}}out = [0, 1, 2, 3, 50, 50, 50, 50]{{$}}
# LEAVE_EARLY-NOT: out


@wp.kernel
def tern(out: wp.array(dtype=float)):
    i = wp.tid()
    x = 10.0 if i < 2 else (1.0 if i < 7 else 0.0)
    out[i] = x
# TERN: {{^}}out = [10, 10, 1, 1, 1, 1, 1, 0]{{$}}
# TERN-NOT: out


@wp.kernel
def short(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if i < 4 and a[i] == 0.0 or i == 7:
        out[i] = 1.0
# SHORT: {{^}}out = [1, 1, 1, 1, 0, 0, 0, 1]{{$}}
# SHORT-NOT: out


@wp.kernel
def maybe(out: wp.array(dtype=float)):
    i = wp.tid()
    if i > 3:
        y = 2.0
    out[i] = y
# MAYBE: {{^}}out = [0, 0, 0, 0, 2, 2, 2, 2]{{$}}
# MAYBE-NOT: out
