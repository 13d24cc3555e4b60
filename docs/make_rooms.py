"""The picture of the rooms of the source, drawn from its imports: `python docs/make_rooms.py` writes `docs/rooms.svg`.

A room is a folder of `noms_env` or `training`. An arrow leads from a room to one that it imports, unless it also does so by way
of others. A test holds the picture current.
"""

from __future__ import annotations

from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "rooms.svg"
PACKAGES = {"noms_env": "noms_env", "noms_training": "training"}
"""The packages, by the names of their folders."""
WIDTH, HEIGHT, GAP, STEP = 116, 34, 20, 66
"""Of a box, between boxes of a row, and from row to row."""

Graph = dict[str, set[str]]


def main() -> None:
    """Draw the rooms of both packages, side by side."""
    PICTURE.write_text(drawing(), encoding="utf-8")
    print(PICTURE)


def imports_of(package: str) -> Graph:
    """The rooms of a package that each of its rooms imports."""
    folders = {path.parent.name for path in (ROOT / PACKAGES[package]).glob("*/__init__.py")}
    modules = grimp.build_graph(package, cache_dir=None)
    graph: Graph = {folder: set() for folder in folders}
    for module in modules.modules:
        room = module.split(".")[1:2]
        for target in modules.find_modules_directly_imported_by(module):
            there = target.split(".")[1:2]
            if room != there and folders.issuperset(room + there) and room and there:
                graph[room[0]].add(there[0])
    return graph


def below(graph: Graph, room: str) -> set[str]:
    """All rooms that a room imports, directly or by way of others."""
    return graph[room] | {deeper for other in graph[room] for deeper in below(graph, other)}


def floors(graph: Graph) -> list[list[str]]:
    """The rooms from the highest floor down; each is above all that it imports."""

    def height(room: str) -> int:
        return 1 + max((height(other) for other in graph[room]), default=-1)

    heights = {room: height(room) for room in graph}
    return [sorted(room for room in graph if heights[room] == floor) for floor in range(max(heights.values()), -1, -1)]


def arrows(graph: Graph) -> list[tuple[str, str]]:
    """The imports without those that others imply."""
    return sorted(
        (room, other) for room in graph for other in graph[room] if not any(other in below(graph, via) for via in graph[room])
    )


def drawing() -> str:
    """The picture as SVG."""
    graphs = {package: imports_of(package) for package in PACKAGES}
    rows = {package: floors(graph) for package, graph in graphs.items()}
    widest = {package: max(map(len, rows[package])) * (WIDTH + GAP) + 3 * GAP for package in PACKAGES}
    parts, left = [], 0
    for package, folder in PACKAGES.items():
        centre = left + widest[package] / 2
        places = {
            room: (centre + (place - (len(row) - 1) / 2) * (WIDTH + GAP), 60 + STEP * floor)
            for floor, row in enumerate(rows[package])
            for place, room in enumerate(row)
        }
        parts.append(f'<text x="{centre:g}" y="24" font-weight="700">{folder}/</text>')
        parts += [_arrow(places[upper], places[lower]) for upper, lower in arrows(graphs[package])]
        parts += [_box(room, *place) for room, place in places.items()]
        left += widest[package]
    height = 60 + STEP * max(map(len, rows.values()))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left} {height}" font-family="sans-serif" font-size="14"'
    marker = (
        '<marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto"><path d="M0 0 7 3 0 6"/></marker>'
    )
    paper = f'<rect width="{left}" height="{height}" fill="#fff"/>'
    return "\n".join([f'{head} text-anchor="middle">', "<title>Rooms and imports</title>", paper, marker, *parts, "</svg>", ""])


def _box(room: str, x: float, y: float) -> str:
    box = f'<rect x="{x - WIDTH / 2:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#eef2fb" stroke="#2f4a8c"/>'
    return f'{box}<text x="{x:g}" y="{y + HEIGHT / 2 + 5:g}">{room}</text>'


def _arrow(upper: tuple[float, float], lower: tuple[float, float]) -> str:
    """A line from box to box, in an arc if it passes other floors."""
    (x, y), (u, v) = upper, lower
    arc = 0 if v - y <= STEP else WIDTH * (1.7 if u >= x else -1.2)
    middle = f"C{x + arc:g} {y + STEP:g} {u + arc:g} {v - GAP:g}" if arc else "L"
    curve = f"M{x:g} {y + HEIGHT:g} {middle} {u:g} {v:g}"
    return f'<path d="{curve}" fill="none" stroke="#555" marker-end="url(#head)"/>'


if __name__ == "__main__":
    main()
