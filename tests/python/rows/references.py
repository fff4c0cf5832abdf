"""The references of all rows: by the overload ("lerp(F, F, F)"), or by the name for all of its overloads."""

from __future__ import annotations

import reference_random
import reference_rotation
import reference_scalar
import reference_vector
from expected import Expected
from signatures import Row

TABLE: dict[str, Expected] = {
    **reference_scalar.TABLE,
    **reference_vector.TABLE,
    **reference_rotation.TABLE,
    **reference_random.TABLE,
}


def reference_of(row: Row) -> Expected | None:
    return TABLE.get(row.key) or TABLE.get(row.name)
