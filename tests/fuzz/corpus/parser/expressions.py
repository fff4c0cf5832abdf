x = -a**2 + b * (c - d) / e // f % g @ h << 1 >> 2 & 3 | 4 ^ 5
y = not a == b < c <= d != e in f not in g is h is not i
z = a if b else c if d else e, *f, (g,), (), [], [h, *i]
w = f(a, *b, c=d, **e)(g)[h, i:j:k, ::, ...].l[(m, n),][()]
(q), [r.s, *t[0]] = u = v = yield
0x_ff, 0o17, 0b1_0, 1_000, 1., .5, 1e-5, 0.1e+10, 99999999999999999999, 1e999, 3j
'a' "b" r'\n' u'c' '''d
e''' """f\
g""" '\x41\u00e9\U0001F600\101\q\''
b'x' rb'y'
f'{a}{b!r:>{c}}{{}}' f"{d['e']}" F'''{
f # g
}'''
lambda a, /, b=1, *c, d, **e: (yield from f)
[a for b, *c in d if e if f async for g in h]; {a: b for c in d}; {a for b in c}; (a for b in c)
{a: b, **c}; {a, *b}; (n := 1); await x
