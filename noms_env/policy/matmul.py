"""Compiled matrix products in float32 on one core: a row's bits do not depend on the other rows.

A tile is a few rows times two vectors of columns, summed in registers in one fixed order. A matrix library does not promise
such an order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from noms_env._jit import COMPILED, jit

HAS_AVX512 = bool(COMPILED and llvm.get_host_cpu_features().get("avx512f"))
LANES = 16 if HAS_AVX512 else 8
"""float32 numbers in a vector register (in two or four registers if they are shorter)."""
PANEL = 2 * LANES
"""Columns of a tile."""
TILE = 6
"""Rows of a tile: with two vectors each, the sums fit the registers of every machine."""
UNROLL = 4
"""Terms of a sparse sum that are added at once."""


def pad_width(columns: int) -> int:
    """Return the number of columns, rounded up to whole tiles."""
    return -(-columns // PANEL) * PANEL


def pad_columns(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix as float32, with columns of zeros appended to fill the last tile."""
    out = np.zeros((len(matrix), pad_width(matrix.shape[1])), np.float32)
    out[:, : matrix.shape[1]] = matrix
    return out


def as_panels(weight: np.ndarray) -> np.ndarray:
    """Return a layer's weight, shape (outputs, inputs), as panels: float32, shape (padded outputs / PANEL, inputs, PANEL)."""
    padded = pad_columns(weight.T)
    return np.ascontiguousarray(padded.reshape(len(padded), -1, PANEL).transpose(1, 0, 2))


def from_panels(panels: np.ndarray, outputs: int) -> np.ndarray:
    """Return the weight, shape (outputs, inputs), of panels: the inverse of `as_panels`."""
    return np.ascontiguousarray(panels.transpose(0, 2, 1).reshape(-1, panels.shape[1])[:outputs])


def _tile_code(rows: int) -> Callable[..., Any]:
    """Return the code generator for some rows times a panel: the compiler keeps the sums, two vectors per row, in registers."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, panels, y = (context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 2, 4))
        row, panel = arguments[1], arguments[3]
        terms = builder.extract_value(panels.shape, 1)
        first_term = builder.mul(panel, builder.mul(terms, SIZE(PANEL)))
        lines = [builder.add(row, SIZE(i)) for i in range(rows)]
        sources = [_pointer(builder, x.data, line, builder.extract_value(x.shape, 1)) for line in lines]

        def add_term(term: Any, sums: list[Any]) -> list[Any]:
            columns = _vectors(builder, _pointer(builder, panels.data, term, SIZE(PANEL), first_term))
            weights = [builder.load(column, align=4) for column in columns]
            new_sums = []
            for source, place in zip(sources, range(0, 2 * rows, 2), strict=True):
                number = _broadcast(builder, builder.load(builder.gep(source, [term]), align=4))
                new_sums += [_multiply_add(builder, sums[place + half], number, weights[half]) for half in range(2)]
            return new_sums

        new_sums = _loop(builder, SIZE(0), terms, 1, 2 * rows, add_term)
        offset = builder.mul(panel, SIZE(PANEL))
        for i, line in enumerate(lines):
            out = _vectors(builder, _pointer(builder, y.data, line, builder.extract_value(y.shape, 1), offset))
            for half in range(2):
                builder.store(new_sums[2 * i + half], out[half], align=4)
        return context.get_dummy_value()

    return codegen


def _sum_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Generate the code that adds up some rows of a panel, each times a number.

    Each of the `UNROLL` terms of a step has its own two vectors of sums, so that no sum waits for the one before.
    """
    places, amounts, panel_data, row = _sparse_operands(context, builder, signature, arguments)

    def add_terms(term: Any, sums: list[Any]) -> list[Any]:
        new_sums = []
        for side in range(UNROLL):
            index = builder.add(term, SIZE(side))
            line = builder.zext(builder.load(builder.gep(places.data, [index]), align=2), SIZE)
            number = _broadcast(builder, builder.load(builder.gep(amounts.data, [index]), align=4))
            columns = _vectors(builder, _pointer(builder, panel_data, line, SIZE(PANEL)))
            weights = [builder.load(column, align=4) for column in columns]
            new_sums += [_multiply_add(builder, sums[2 * side + half], number, weights[half]) for half in range(2)]
        return new_sums

    new_sums = _loop(builder, arguments[2], arguments[3], UNROLL, 2 * UNROLL, add_terms)
    for half, out in enumerate(_vectors(builder, row)):
        total = new_sums[half]
        for side in range(1, UNROLL):
            total = builder.fadd(total, new_sums[2 * side + half])
        builder.store(total, out, align=4)
    return context.get_dummy_value()


def _add_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Generate the code that adds a row's part, times a number each, to some rows of a panel."""
    places, amounts, panel_data, row = _sparse_operands(context, builder, signature, arguments)
    addends = [builder.load(part, align=4) for part in _vectors(builder, row)]

    def add_to_row(term: Any, _sums: list[Any]) -> list[Any]:
        line = builder.zext(builder.load(builder.gep(places.data, [term]), align=2), SIZE)
        number = _broadcast(builder, builder.load(builder.gep(amounts.data, [term]), align=4))
        for part, target in zip(addends, _vectors(builder, _pointer(builder, panel_data, line, SIZE(PANEL))), strict=True):
            builder.store(_multiply_add(builder, builder.load(target, align=4), number, part), target, align=4)
        return []

    _loop(builder, arguments[2], arguments[3], 1, 0, add_to_row)
    return context.get_dummy_value()


def _loop(builder: Any, begin: Any, end: Any, step: int, vectors: int, body: Callable[..., list[Any]]) -> list[Any]:
    """Generate a loop over terms from `begin` to `end` (at least one step), and return its sums, some vectors.

    `body(term, sums)` generates the code of a step and returns the new sums.
    """
    before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(loop)
    builder.position_at_end(loop)
    term, sums = builder.phi(SIZE), [builder.phi(VECTOR) for _ in range(vectors)]
    new_sums = body(term, sums)
    next_term = builder.add(term, SIZE(step))
    builder.cbranch(builder.icmp_signed("<", next_term, end), loop, after)
    for phi, start, next_value in zip([term, *sums], [begin, *[ZEROS] * vectors], [next_term, *new_sums], strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(next_value, loop)
    builder.position_at_end(after)
    return new_sums


def _sparse_operands(context: Any, builder: Any, signature: Any, arguments: Any) -> tuple[Any, Any, Any, Any]:
    """Return the columns and numbers of a sparse product, and pointers to the panel and to the row's part of `y`."""
    places, amounts, panels, y = (context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 4, 6))
    panel, row, width = arguments[5], arguments[7], SIZE(PANEL)
    start = _pointer(builder, panels.data, panel, builder.mul(builder.extract_value(panels.shape, 1), width))
    return places, amounts, start, _pointer(builder, y.data, row, builder.extract_value(y.shape, 1), builder.mul(panel, width))


SIZE, VECTOR = ir.IntType(64), ir.VectorType(ir.FloatType(), LANES)
ZEROS = ir.Constant(VECTOR, [0.0] * LANES)


def _pointer(builder: Any, data: Any, line: Any, length: Any, offset: Any = SIZE(0)) -> Any:  # noqa: B008 - a constant
    """Return a pointer to a line of a matrix, or to a place `offset` further on."""
    return builder.gep(data, [builder.add(builder.mul(line, length), offset)])


def _vectors(builder: Any, start: Any) -> list[Any]:
    """Return pointers to the two vectors from a place on."""
    return [builder.bitcast(builder.gep(start, [SIZE(LANES * half)]), VECTOR.as_pointer()) for half in range(2)]


def _broadcast(builder: Any, number: Any) -> Any:
    """Return a vector with one number in all lanes."""
    places = ir.VectorType(ir.IntType(32), LANES)
    lane = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(lane, lane, ir.Constant(places, [0] * LANES))


def _multiply_add(builder: Any, total: Any, left: Any, right: Any) -> Any:
    """Return `total + left * right`; with `contract` it is rounded once if the machine has an instruction for it."""
    return builder.fadd(total, builder.fmul(left, right, flags=("contract",)), flags=("contract",))


if COMPILED:

    @intrinsic  # type: ignore[untyped-decorator]
    def multiply_tile(_context: Any, x: Any, row: Any, panels: Any, panel: Any, y: Any) -> Any:
        """Write `TILE` rows from `row` on, in the columns of a panel: `y = x[:, :inputs] @ panels[panel]`."""
        return types.void(x, types.int64, panels, types.int64, y), _tile_code(TILE)

    @intrinsic  # type: ignore[untyped-decorator]
    def multiply_row(_context: Any, x: Any, row: Any, panels: Any, panel: Any, y: Any) -> Any:
        """Write one row, with the same bits as `multiply_tile`."""
        return types.void(x, types.int64, panels, types.int64, y), _tile_code(1)

    @intrinsic  # type: ignore[untyped-decorator]
    def sum_lines(
        _context: Any, places: Any, amounts: Any, begin: Any, end: Any, panels: Any, panel: Any, y: Any, row: Any
    ) -> Any:
        """Write one row in a panel's columns: the sum of `amounts[k] * panels[panel, places[k]]` over begin <= k < end."""
        number = types.int64
        return types.void(places, amounts, number, number, panels, number, y, number), _sum_code

    @intrinsic  # type: ignore[untyped-decorator]
    def add_to_lines(
        _context: Any, places: Any, amounts: Any, begin: Any, end: Any, panels: Any, panel: Any, y: Any, row: Any
    ) -> Any:
        """Add one row in a panel's columns, times `amounts[k]`, to `panels[panel, places[k]]` for begin <= k < end."""
        number = types.int64
        return types.void(places, amounts, number, number, panels, number, y, number), _add_code

else:

    def multiply_tile(x: Any, row: Any, panels: Any, panel: Any, y: Any) -> None:
        """Write `TILE` rows from `row` on, in the columns of a panel: `y = x[:, :inputs] @ panels[panel]`."""
        for i in range(row, row + TILE):
            multiply_row(x, i, panels, panel, y)

    def multiply_row(x: Any, row: Any, panels: Any, panel: Any, y: Any) -> None:
        """Write one row, with the same bits as `multiply_tile`."""
        y[row, panel * PANEL : (panel + 1) * PANEL] = x[row, : panels.shape[1]] @ panels[panel]

    def sum_lines(places: Any, amounts: Any, begin: Any, end: Any, panels: Any, panel: Any, y: Any, row: Any) -> None:
        """Write one row in a panel's columns: the sum of `amounts[k] * panels[panel, places[k]]` over begin <= k < end."""
        y[row, panel * PANEL : (panel + 1) * PANEL] = amounts[begin:end] @ panels[panel, places[begin:end]]

    def add_to_lines(places: Any, amounts: Any, begin: Any, end: Any, panels: Any, panel: Any, y: Any, row: Any) -> None:
        """Add one row in a panel's columns, times `amounts[k]`, to `panels[panel, places[k]]` for begin <= k < end."""
        part = y[row, panel * PANEL : (panel + 1) * PANEL]
        np.add.at(panels[panel], places[begin:end], amounts[begin:end, None] * part)


@jit
def multiply(x, rows, panels, row_panels, y):
    """Write `y[:rows, :outputs] = x[:rows, :inputs] @ weight`, except panels that no row of a tile needs.

    `x` and `y` are float32 with at least these rows and columns, `panels` float32, shape (outputs / PANEL, inputs, PANEL).
    `row_panels`, int64, shape (at least rows,), is the set of panels that each row needs; -1 stands for all panels. The other
    columns may stay unchanged.
    """
    tiled_rows = rows // TILE * TILE
    for panel in range(len(panels)):
        place = min(panel, 63)
        for row in range(0, tiled_rows, TILE):
            tile_panels = np.int64(0)
            for i in range(row, row + TILE):
                tile_panels |= row_panels[i]
            if tile_panels >> place & 1:
                multiply_tile(x, row, panels, panel, y)
        for row in range(tiled_rows, rows):
            if row_panels[row] >> place & 1:
                multiply_row(x, row, panels, panel, y)


@jit
def multiply_sparse(places, amounts, starts, rows, panels, y):
    """Write `y[:rows, :outputs] = x[:rows] @ weight` for a sparse x.

    Args:
        places: uint16, shape (n,): row by row, the columns of the nonzero numbers of x. Each row is padded to a multiple of
            `UNROLL`, at least one multiple, with any columns.
        amounts: float32, shape (n,): the numbers; 0 in the padding.
        starts: int64, shape (at least rows + 1,): start of each row in these, then the end of the last.
        rows: number of rows.
        panels: float32, shape (outputs / PANEL, inputs, PANEL).
        y: float32, shape (at least rows, at least outputs), written.
    """
    for panel in range(len(panels)):
        for row in range(rows):
            sum_lines(places, amounts, starts[row], starts[row + 1], panels, panel, y, row)


@jit
def add_products_sparse(places, amounts, starts, rows, y, panels):
    """Add `x[:rows].T @ y[:rows, :outputs]` to panels, float32, shape (outputs / PANEL, inputs, PANEL).

    This is the gradient of the weight in `multiply_sparse` if `y` is the gradient of its output. Other arguments as there.
    """
    for panel in range(len(panels)):
        for row in range(rows):
            add_to_lines(places, amounts, starts[row], starts[row + 1], panels, panel, y, row)
