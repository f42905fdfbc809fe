"""Count which imports of the app cross from one room to another.

    python scripts/app_imports.py [--all]

An import is a pair of files. The rooms are `gui/kit`, `gui/state`, `gui/shell`, each folder of
`gui/features`, and the files beside them. `--all` lists every import between two features.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from tests.support.imports import imported_modules, sources  # noqa: E402

FEATURES = "gui.features."


def module_name(path: Path) -> str:
    """Return the dotted name of a file of the checkout; a package's is that of its folder."""
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")


def room_of(module: str) -> str:
    """Return `kit`, `state`, `shell`, `features.<name>`, or `app` for the files beside them."""
    parts = module.split(".")
    if parts[1:2] == ["features"] and len(parts) > 2:
        return f"features.{parts[2]}"
    return parts[1] if len(parts) > 2 or parts[1:2] in (["kit"], ["state"], ["shell"]) else "app"


def app_imports() -> Iterator[tuple[str, str]]:
    """Yield (importer, imported) for each file of the app and each other file that it imports.

    `from gui.kit import theme` imports the file theme, not the package.
    """
    modules = {module_name(path): path for path in sources("gui")}
    for name, path in modules.items():
        found = imported_modules(path) & modules.keys()
        for other in found:
            if not any(longer.startswith(f"{other}.") for longer in found):
                yield name, other


def crossings(imports: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return those of the imports that lead from one feature to another."""
    return [
        (name, other)
        for name, other in imports
        if room_of(name) != room_of(other) and name.startswith(FEATURES) and other.startswith(FEATURES)
    ]


def main() -> None:
    imports = list(app_imports())
    crossed = crossings(imports)
    print(f"{len(imports)} imports, {len(crossed)} from feature to feature ({len(crossed) / len(imports):.1%})")
    pairs = Counter((room_of(name), room_of(other)) for name, other in crossed)
    for (room, other), count in sorted(pairs.items()):
        print(f"  {room.removeprefix('features.')} -> {other.removeprefix('features.')}: {count}")
    if "--all" in sys.argv:
        print(*(f"  {name} imports {other}" for name, other in sorted(crossed)), sep="\n")


if __name__ == "__main__":
    main()
