"""Pictures of Jacobians, by matplotlib, which is asked for only here."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw(
    jacobians: dict[tuple[int, int], Any],
    metadata: Any,
    show_plot: bool,
    show_colorbar: bool,
    scale_each: bool,
    title: str | None,
    colormap: str,
    log_scale: bool,
) -> Any:
    """A grid of matrices: outputs from top to bottom, inputs from left to right."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.colors import Normalize, SymLogNorm
    except ImportError as error:
        raise ImportError("plots of Jacobians need matplotlib; install it with pip install matplotlib") from error
    if not jacobians:
        raise ValueError("there is no Jacobian to draw")
    inputs, outputs = sorted({i for i, _ in jacobians}), sorted({o for _, o in jacobians})
    values = {pair: np.asarray(one.numpy(), np.float64) for pair, one in jacobians.items()}

    def norm(matrices: list[np.ndarray]) -> Any:
        finite = [m[np.isfinite(m)] for m in matrices]
        most = max((float(np.abs(m).max()) for m in finite if m.size), default=1.0) or 1.0
        return SymLogNorm(most * 1e-6, vmin=-most, vmax=most) if log_scale else Normalize(-most, most)

    shared = norm(list(values.values()))
    figure, axes = plt.subplots(
        len(outputs), len(inputs), squeeze=False, figsize=(3.2 * len(inputs), 3.0 * len(outputs)), layout="constrained"
    )
    image = None
    for row, o in enumerate(outputs):
        for column, i in enumerate(inputs):
            place = axes[row][column]
            matrix = values.get((i, o))
            if matrix is None:
                place.axis("off")
                continue
            scale = norm([matrix]) if scale_each else shared
            image = place.imshow(matrix, norm=scale, cmap=colormap, aspect="auto", interpolation="nearest")
            place.set_title(f"{_label(metadata.input_labels, i, 'input')} → {_label(metadata.output_labels, o, 'output')}")
            if show_colorbar and scale_each:
                figure.colorbar(image, ax=place)
    if show_colorbar and not scale_each and image is not None:
        figure.colorbar(image, ax=axes.ravel().tolist())
    figure.suptitle(title or metadata.key or "Jacobians")
    if show_plot:
        plt.show()
    return figure


def _label(names: list[str] | None, index: int, what: str) -> str:
    return names[index] if names and index < len(names) else f"{what} {index}"
