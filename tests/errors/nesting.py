# Expressions, blocks and comparisons that lie too deep inside one another.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def comparisons(n: int):
    x = n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n


@wp.kernel
def parentheses(n: int):
    x = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1.0))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))

# CHECK:{{^}}nesting.py:13:209: error: expressions are nested more than 200 deep [nesting_too_deep]{{$}}
# CHECK-NEXT:{{^}}        x = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1.0))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))){{$}}
# CHECK-NEXT:{{^}}                                                                                                                                                                                                                    ^{{$}}
# CHECK-NEXT:{{^}}    note: split the expression into several assignments{{$}}
# CHECK-NEXT:{{^}}nesting.py:8:9: error: conditions and loops lie more than 192 levels inside one another [nesting_too_deep]{{$}}
# CHECK-NEXT:{{^}}        x = n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < n < {{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: move the inner ones into a function{{$}}
# CHECK-NOT:{{error|warning}}:
