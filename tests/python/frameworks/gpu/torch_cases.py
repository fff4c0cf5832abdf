"""PyTorch on a GPU: side streams, captured graphs, backward on torch's own thread and stream, pinned memory."""

from __future__ import annotations

import threading
import time

import numpy as np
import torch
import warp as wp
from gpu_support import Skip, run_cases

wp.config.quiet = True
wp.init()
N = 1 << 16
LONG = 20_000_000  # cycles that torch's stream sleeps: some ten milliseconds
SHORT = 40_000


@wp.kernel
def scaled(x: wp.array(dtype=float), a: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i]


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def every_other(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i % 2 == 0:
        y[i] = x[i]


@wp.kernel
def slow(y: wp.array(dtype=float), turns: int, value: float):
    i = wp.tid()
    s = value
    for k in range(turns):
        s = s + wp.sin(s) * 1e-30
    y[i] = s


def equal(found, wanted):
    found = np.asarray(found)
    if not (found == wanted).all():
        bad = np.flatnonzero(found != wanted)
        raise AssertionError(f"{len(bad)} of {found.size} differ; the first: {found.flat[bad[0]]}, not {wanted}")


def case_side_stream_from_torch_and_back():
    """What torch queues on a stream of its own is there when a launch on its tensors reads it, and the other way round."""
    stream = torch.cuda.Stream()
    x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    for turn in range(1000):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(LONG if turn < 3 else SHORT)
            x.fill_(float(turn))
            wp.launch(scaled, N, inputs=[x, 2.0], outputs=[y], device="cuda:0")
            z = y + 1.0
        stream.synchronize()
        equal(z.cpu(), 2.0 * turn + 1.0)


def case_side_stream_with_arrays_of_ours():
    """Where arrays of ours take part, our stream and torch's wait for each other."""
    stream = torch.cuda.Stream()
    x = torch.zeros(N, device="cuda")
    ours = wp.zeros(N, dtype=float, device="cuda:0")
    torch.cuda.synchronize()
    for turn in range(200):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(LONG if turn < 3 else SHORT)
            x.fill_(float(turn))
            wp.launch(scaled, N, inputs=[x, 3.0], outputs=[ours], device="cuda:0")
        equal(ours.numpy(), 3.0 * turn)  # on our stream
    for turn in range(50):
        wp.launch(slow, N, inputs=[ours, 2000, float(turn)], device="cuda:0")  # on our stream, and long
        with torch.cuda.stream(stream):
            wp.launch(scaled, N, inputs=[ours, 2.0], outputs=[x], device="cuda:0")
            z = x + 0.0
        stream.synchronize()
        equal(z.cpu(), 2.0 * turn)


def case_a_chosen_stream_wins():
    stream, own = torch.cuda.Stream(), wp.Stream("cuda:0")
    x, y = torch.full((N,), 4.0, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG * 20)
        begin = time.perf_counter()
        with wp.ScopedStream(own):
            wp.launch(scaled, N, inputs=[x, 2.0], outputs=[y])
        wp.synchronize_stream(own)
        took = time.perf_counter() - begin
        assert not stream.query(), "the side stream was to be busy for longer"
    equal(y.cpu(), 8.0)
    stream.synchronize()
    return {"seconds": took}


def case_default_stream():
    x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    for turn in range(200):
        torch.cuda._sleep(SHORT)
        x.fill_(float(turn))
        wp.launch(scaled, N, inputs=[x, 2.0], outputs=[y], device="cuda:0")
        equal((y + 1.0).cpu(), 2.0 * turn + 1.0)


def case_from_torch_in_a_side_stream():
    """Arrays over tensors know their provider's stream no more than ours: the program says which one it means."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG)
        x = torch.full((N,), 5.0, device="cuda")
        with wp.ScopedStream(wp.stream_from_torch(stream)):
            a = wp.from_torch(x)
            out = wp.zeros(N, dtype=float, device="cuda:0")
            wp.launch(scaled, N, inputs=[a, 2.0], outputs=[out])
    stream.synchronize()
    equal(out.numpy(), 10.0)
    assert wp.stream_to_torch("cuda:0").cuda_stream == wp.get_stream("cuda:0").cuda_stream


def _captured(launch):
    """Captures launch(), which works on given tensors, into a graph of torch's."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        launch()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    return graph


def case_graph_of_torch():
    x, y, z = (torch.zeros(N, device="cuda") for _ in range(3))

    def work():
        x.add_(1.0)
        wp.launch(scaled, N, inputs=[x, 2.0], outputs=[y], device="cuda:0")
        torch.mul(y, 10.0, out=z)

    graph = _captured(work)
    torch.cuda.synchronize()
    x.zero_()
    y.fill_(-1.0)
    torch.cuda.synchronize()
    equal(y.cpu(), -1.0)  # capturing runs nothing
    for turn in range(1, 101):
        graph.replay()
        torch.cuda.synchronize()
        equal(z.cpu(), 20.0 * turn)


def case_graph_of_torch_first_launch():
    """The kernel's code is loaded while torch captures."""

    @wp.kernel
    def fresh(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * 7.0 + 0.125

    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        wp.launch(fresh, N, inputs=[x], outputs=[y], device="cuda:0")
    x.fill_(2.0)
    graph.replay()
    torch.cuda.synchronize()
    equal(y.cpu(), 14.125)


def case_graph_of_torch_with_an_operator():
    f = wp.torch.op(square)
    x = torch.zeros(N, device="cuda")
    made = []

    def work():
        made.clear()
        made.append(f(x) * 0.5)

    graph = _captured(work)
    for turn in range(1, 21):
        x.fill_(float(turn))
        graph.replay()
        torch.cuda.synchronize()
        equal(made[0].cpu(), 0.5 * turn * turn)


def case_what_is_not_written_is_zero():
    """Memory that torch gives out again holds what was there before; results that a launch fills are not cleared."""
    half, whole = wp.torch.op(every_other), wp.torch.op(square)
    x = torch.full((N,), 3.0, device="cuda")
    for _ in range(20):
        dirt = [torch.full_like(x, 7.0) for _ in range(4)]
        del dirt
        made = half(x).cpu().reshape(-1, 2)
        equal(made[:, 0], 3.0)
        equal(made[:, 1], 0.0)
        equal(whole(x).cpu(), 9.0)
        equal(whole(x[: N // 2]).cpu(), 9.0)


def case_graph_of_ours_over_torch():
    stream = wp.Stream("cuda:0")
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    with wp.ScopedStream(stream):
        wp.launch(scaled, N, inputs=[x, 2.0], outputs=[y])
        wp.synchronize_stream(stream)
        with torch.cuda.stream(wp.stream_to_torch(stream)), wp.ScopedCapture(stream=stream) as capture:
            x.mul_(2.0)
            wp.launch(scaled, N, inputs=[x, 3.0], outputs=[y])
            y.add_(1.0)
        for turn in range(1, 11):
            wp.capture_launch(capture.graph)
            wp.synchronize_stream(stream)
            equal(y.cpu(), 3.0 * 2.0**turn + 1.0)


def _check_backward(call):
    main = threading.get_ident()
    seen = []
    stream = torch.cuda.Stream()
    for turn in range(200):
        with torch.cuda.stream(stream):
            x = torch.full((N,), float(turn), device="cuda", requires_grad=True)
            torch.cuda._sleep(LONG if turn < 2 else SHORT)
            scale = torch.full((N,), 3.0, device="cuda")
            y = call(x * 1.0)
            y.register_hook(lambda g: seen.append((threading.get_ident(), torch.cuda.current_stream().cuda_stream)))
            (y * scale).sum().backward()
            gradient = x.grad + 0.0
        stream.synchronize()
        equal(gradient.cpu(), 6.0 * turn)
        x.grad = None
    assert all(thread != main for thread, _ in seen), "backward was to run on a thread of torch's"
    assert {s for _, s in seen} == {stream.cuda_stream}


def case_backward_of_an_operator():
    _check_backward(wp.torch.op(square))


def case_backward_of_an_autograd_function():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            y = torch.empty_like(x)
            wp.launch(square, x.shape[0], inputs=[x], outputs=[y], device="cuda:0")
            return y

        @staticmethod
        def backward(ctx, given):
            (x,) = ctx.saved_tensors
            slope, given = torch.zeros_like(x), given.contiguous().clone()
            with wp.ScopedStream(wp.stream_from_torch(torch.cuda.current_stream())):
                a = wp.from_torch(x.detach(), grad=slope, requires_grad=True)
                y = wp.from_torch(torch.empty_like(x), grad=given, requires_grad=True)
                wp.launch(square, x.shape[0], inputs=[a], outputs=[y], adjoint=True, device="cuda:0")
            return slope

    _check_backward(Square.apply)


def case_backward_of_a_function_of_launches():
    @wp.torch.function
    def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        wp.launch(square, x.shape, inputs=[x], outputs=[y])

    _check_backward(twice)


def case_a_function_with_arrays_of_its_own():
    """What the program queued on our stream before comes first, and the function's work before what it queues later."""
    ours, stream = wp.zeros(N, dtype=float, device="cuda:0"), torch.cuda.Stream()

    @wp.torch.function
    def doubled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        wp.launch(scaled, x.shape, inputs=[ours, 2.0], outputs=[y])
        wp.launch(scaled, x.shape, inputs=[x, 3.0], outputs=[ours])

    for turn in range(50):
        wp.launch(slow, N, inputs=[ours, 2000, float(turn)], device="cuda:0")
        with torch.cuda.stream(stream):
            x = torch.full((N,), float(turn), device="cuda")
            torch.cuda._sleep(SHORT)
            y = doubled(x)
        equal(ours.numpy(), 3.0 * turn)
        stream.synchronize()
        equal(y.cpu(), 2.0 * turn)
    x = torch.ones(N, device="cuda")

    def work():
        made[:] = [doubled(x)]

    made = []
    graph = _captured(work)
    ours.fill_(4.0)
    wp.synchronize()
    graph.replay()
    torch.cuda.synchronize()
    equal(made[0].cpu(), 8.0)


def case_gradients_are_shared():
    t = torch.arange(8.0, device="cuda", requires_grad=True)
    a = wp.from_torch(t)
    out = wp.zeros(8, dtype=float, device="cuda:0", requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 8, inputs=[a], outputs=[out], device="cuda:0")
    tape.backward(grads={out: wp.ones(8, dtype=float, device="cuda:0")})
    wp.synchronize()
    equal(t.grad.cpu() - 2 * torch.arange(8.0), 0.0)
    back = wp.to_torch(a)
    assert back.data_ptr() == t.data_ptr() and back.grad.data_ptr() == t.grad.data_ptr()


def case_pinned_memory():
    t = torch.arange(64.0).pin_memory()
    a = wp.from_torch(t)
    assert a.pinned and a.ptr == t.data_ptr()
    b = wp.zeros(64, dtype=float, device="cpu", pinned=True)
    assert wp.to_torch(b).is_pinned()
    out = wp.zeros(64, dtype=float, device="cuda:0")
    wp.copy(out, a)
    equal(out.numpy() - np.arange(64.0), 0.0)
    assert not wp.from_torch(torch.zeros(8)).pinned
    leaf = torch.arange(8.0).pin_memory().requires_grad_()  # its gradient is ordinary memory
    seen = wp.from_torch(leaf)
    assert seen.grad.ptr == leaf.grad.data_ptr() and not seen.pinned


def case_values_from_tensors():
    """Numbers and vectors that lie on the GPU, as values of launches and fills."""
    x, y = torch.ones(8, device="cuda"), torch.zeros(8, device="cuda")
    wp.launch(scaled, 8, [x, torch.tensor(3.0, device="cuda"), y], device="cuda:0")
    equal(y.cpu(), 3.0)
    vector = torch.tensor([1.0, 2.0, 3.0], device="cuda")
    equal(wp.full(2, vector, dtype=wp.vec3, device="cuda:0").numpy() - np.arange(1.0, 4.0), 0.0)


def case_places_that_do_not_fit():
    x, y = torch.zeros(8), torch.zeros(8, device="cuda")
    for device, given, name in (("cuda:0", (x, y), "'x'"), ("cpu", (x, y), "'y'")):
        try:
            wp.launch(square, 8, inputs=[given[0]], outputs=[given[1]], device=device)
        except RuntimeError as error:
            assert name in str(error), error
        else:
            raise AssertionError(f"a launch on {device} took {name}")


def case_threads_with_streams_of_their_own():
    wrong = []

    def work(number):
        stream = torch.cuda.Stream()
        x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
        torch.cuda.synchronize()
        for turn in range(100):
            with torch.cuda.stream(stream):
                torch.cuda._sleep(SHORT)
                x.fill_(float(number * 1000 + turn))
                wp.launch(scaled, N, inputs=[x, 2.0], outputs=[y], device="cuda:0")
                z = y + 0.0
            stream.synchronize()
            if not (z.cpu() == 2.0 * (number * 1000 + turn)).all():
                wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong, wrong[:5]


def case_compiled_by_inductor():
    try:
        import triton  # noqa: F401
    except ImportError:
        raise Skip("triton, which inductor compiles with, is not installed") from None
    f = wp.torch.op(square)

    @torch.compile(fullgraph=True)
    def program(x):
        return (f(x + 1.0) * 2.0).sum()

    x = torch.arange(16.0, device="cuda", requires_grad=True)
    program(x).backward()
    equal(x.grad.cpu() - 4 * (torch.arange(16.0) + 1), 0.0)


def case_cost_of_tensors_in_a_launch():
    """Microseconds; tensors are to cost at most a tenth more than arrays of ours."""
    n = 64
    x, y = wp.zeros(n, dtype=float, device="cuda:0"), wp.zeros(n, dtype=float, device="cuda:0")
    tx, ty = torch.zeros(n, device="cuda"), torch.zeros(n, device="cuda")

    def best(run):
        times = []
        for _ in range(30):
            wp.synchronize()
            begin = time.perf_counter()
            for _ in range(200):
                run()
            times.append((time.perf_counter() - begin) / 200)
        return 1e6 * min(times)

    arrays = best(lambda: wp.launch(square, n, inputs=[x], outputs=[y], device="cuda:0"))
    tensors = best(lambda: wp.launch(square, n, inputs=[tx], outputs=[ty], device="cuda:0"))
    f, leaf = wp.torch.op(square), torch.zeros(n, device="cuda", requires_grad=True)
    return {
        "launch, two arrays": arrays,
        "launch, two tensors": tensors,
        "ratio": tensors / arrays,
        "from_torch": best(lambda: wp.from_torch(tx)),
        "operator": best(lambda: f(tx)),
        "operator, gradient": best(lambda: f(leaf)),
    }


if __name__ == "__main__":
    run_cases({name: case for name, case in list(globals().items()) if name.startswith("case_")})
