"""Forms of the rules of indexing, by their names, as in `tests.mutants.forms`; so many of each."""

from __future__ import annotations

from tests.mutants.forms_of_gathers import (
    GATHERED,
    KNOWN_MASKS,
    OF_POSITIONS,
    OF_REPEATED,
    OF_TRANSPOSED,
    READ_SCATTERED,
    SCATTER_ZEROS,
    STEPS,
)
from tests.mutants.forms_of_slices import (
    AT_CONSTANT,
    BEFORE_COMPUTING,
    BEFORE_SUMMING,
    OF_INTEGERS,
    OF_MOVEMENTS,
    OF_PIECES,
    OF_SLICES,
    ONE_FORM,
    UNWRAPPED,
    some,
)
from tests.mutants.forms_of_updates import (
    CHAINS,
    INTO_ZEROS,
    JOINED,
    KEEPS,
    MULTIPLES,
    ONE_WRITE,
    READ_WRITTEN,
    SUMS,
    TOTALS,
    TWO_WRITES,
)

MOST = 30  # forms of one rule: of 80 the pool alone takes six minutes
OF_ALL = {
    "slice_in_one_form": ONE_FORM,
    "slice_of_slice": OF_SLICES,
    "slice_of_movement": OF_MOVEMENTS,
    "slice_of_pieces": OF_PIECES,
    "slice_of_integers": OF_INTEGERS,
    "slice_of_update": READ_WRITTEN,
    "slice_at_constant": AT_CONSTANT,
    "update_in_one_form": ONE_WRITE,
    "update_of_zeros": INTO_ZEROS,
    "update_of_update": TWO_WRITES,
    "join_pieces_written": JOINED,
    "sum_with_slice_in_zeros": SUMS,
    "sum_with_elements_in_zeros": (*CHAINS, *SUMS),
    "function_that_keeps_zeros": KEEPS,
    "multiple_of_slice_in_zeros": MULTIPLES,
    "sum_of_slice_in_zeros": TOTALS,
    "gather_of_one_position": OF_POSITIONS,
    "gather_of_steps": GATHERED,
    "gather_of_repeated": OF_REPEATED,
    "gather_of_transpose": OF_TRANSPOSED,
    "gather_of_scatter": READ_SCATTERED,
    "positions_of_known_mask": KNOWN_MASKS,
    "scatter_of_steps": STEPS,
    "scatter_of_zeros": SCATTER_ZEROS,
    "slice_before_computing": BEFORE_COMPUTING,
    "slice_before_summing": BEFORE_SUMMING,
    "index_inside": UNWRAPPED,
}
FORMS_OF_INDICES = {name: tuple(some(forms, MOST)) for name, forms in OF_ALL.items()}
