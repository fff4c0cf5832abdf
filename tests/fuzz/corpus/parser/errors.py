x = (1, 2]
y = [3
if a = b:
  c d
 else:
	e
    f
else if g:
  h
1 = i; j++; k && l; $m; 012; 0x; 1.5f
def f(a=1, b):
  return "abc
x = f"{a
@d
z = \ 
