# Text that is no Python: each mistake at its place, and the rest of the file is still read.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def tokens(out: wp.array(dtype=float)):
    a = 1.0 $ 2.0
    b = 0b12
    c = 1_
    d = "open
    out[0] = missing


@wp.kernel
def statements(out: wp.array(dtype=float)):
    if out[0] > 0.0
        out[0] = 1.0
    x = = 1.0
    for in range(3):
        pass
    out[0] = 1.0 +
    out[1] = (1.0


@wp.kernel
def indentation(out: wp.array(dtype=float)):
    x = 1.0
      y = 2.0
    out[0] = missing

# CHECK:{{^}}syntax.py:8:13: error: invalid character '$' [bad_token]{{$}}
# CHECK-NEXT:{{^}}        a = 1.0 $ 2.0{{$}}
# CHECK-NEXT:{{^}}                ^{{$}}
# CHECK-NEXT:{{^}}    note: names consist of letters, digits and underscores{{$}}
# CHECK-NEXT:{{^}}syntax.py:9:9: error: malformed number [bad_literal]{{$}}
# CHECK-NEXT:{{^}}        b = 0b12{{$}}
# CHECK-NEXT:{{^}}            ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: numbers have no type suffix: convert, as in float(…) or wp.int64(…){{$}}
# CHECK-NEXT:{{^}}syntax.py:10:9: error: malformed number [bad_literal]{{$}}
# CHECK-NEXT:{{^}}        c = 1_{{$}}
# CHECK-NEXT:{{^}}            ^~{{$}}
# CHECK-NEXT:{{^}}    note: an underscore must stand between two digits{{$}}
# CHECK-NEXT:{{^}}syntax.py:11:9: error: this string is not closed on its line [bad_token]{{$}}
# CHECK-NEXT:{{^}}        d = "open{{$}}
# CHECK-NEXT:{{^}}            ^{{$}}
# CHECK-NEXT:{{^}}    note: add the closing quote; a string over several lines needs three quotes{{$}}
# CHECK-NEXT:{{^}}syntax.py:17:20: error: expected ':' after the 'if' header, found the end of the line [syntax_error]{{$}}
# CHECK-NEXT:{{^}}        if out[0] > 0.0{{$}}
# CHECK-NEXT:{{^}}                       ^{{$}}
# CHECK-NEXT:{{^}}    note: add ':' at the end of the line{{$}}
# CHECK-NEXT:{{^}}syntax.py:19:9: error: expected an expression, found '=' [syntax_error]{{$}}
# CHECK-NEXT:{{^}}        x = = 1.0{{$}}
# CHECK-NEXT:{{^}}            ^{{$}}
# CHECK-NEXT:{{^}}    note: did you mean '=='?{{$}}
# CHECK-NEXT:{{^}}syntax.py:20:9: error: expected an expression, found keyword 'in' [syntax_error]{{$}}
# CHECK-NEXT:{{^}}        for in range(3):{{$}}
# CHECK-NEXT:{{^}}            ^~{{$}}
# CHECK-NEXT:{{^}}syntax.py:22:19: error: expected an expression, found the end of the line [syntax_error]{{$}}
# CHECK-NEXT:{{^}}        out[0] = 1.0 +{{$}}
# CHECK-NEXT:{{^}}                      ^{{$}}
# CHECK-NEXT:{{^}}syntax.py:23:18: error: expected ')', found the end of the line [syntax_error]{{$}}
# CHECK-NEXT:{{^}}        out[1] = (1.0{{$}}
# CHECK-NEXT:{{^}}                     ^{{$}}
# CHECK-NEXT:{{^}}syntax.py:23:14: note: '(' is never closed{{$}}
# CHECK-NEXT:{{^}}        out[1] = (1.0{{$}}
# CHECK-NEXT:{{^}}                 ^{{$}}
# CHECK-NEXT:{{^}}syntax.py:29:7: error: unexpected indentation [bad_indentation]{{$}}
# CHECK-NEXT:{{^}}          y = 2.0{{$}}
# CHECK-NEXT:{{^}}          ^{{$}}
# CHECK-NEXT:{{^}}    note: align this line with the one above; only a line that ends in ':' opens a block{{$}}
# CHECK-NEXT:{{^}}syntax.py:12:14: error: Referencing undefined symbol: missing [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        out[0] = missing{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels see their parameters, local variables, constants, types and @wp.func functions{{$}}
# CHECK-NEXT:{{^}}syntax.py:30:14: error: Referencing undefined symbol: missing [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        out[0] = missing{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels see their parameters, local variables, constants, types and @wp.func functions{{$}}
# CHECK-NOT:{{error|warning}}:
