    @wp.kernel
    def k(x: wp.array(dtype=float)):
        # note
        i = wp.tid()

        x[i] = 1.0 \
          + 2.0
