"""What pyproject.toml cannot say: where our packages and the folders `assets` and `docs` lie in a wheel.

In a wheel they are below `dmglab`, in a folder that one .pth file puts at the end of the path: a
`gui` or an `emulator` of somebody else is neither overwritten nor hidden. A checkout, an editable
install of it and the source archive have them side by side.

Files on their way into a wheel lie below the system's folder for temporary files: `build/` in the
checkout would stay there, and a wheel made later would carry what has been deleted since.
"""

import shutil
import tempfile
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

BUILD = tempfile.TemporaryDirectory(prefix="dmglab-build-")  # removed when this process ends
FOLDERS = {"dmglab_assets": "assets", "dmglab_docs": "docs"}
INSIDE = ("emulator", "trainer_core", "gui", *FOLDERS)
SHELF = Path("dmglab", "own-packages")
"""As dmglab/__init__.py looks for it."""


class BuildPy(build_py):
    """Puts what is not public onto its shelf."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        built = Path(self.build_lib)
        (built / SHELF).mkdir(parents=True)
        for name in INSIDE:
            shutil.move(built / name, built / SHELF / name)
        shutil.copy("CHANGELOG.md", built / SHELF / "dmglab_docs")
        (built / "dmglab.pth").write_text(f"{SHELF.as_posix()}\n")


setup(
    cmdclass={"build_py": BuildPy},
    options={"build": {"build_base": BUILD.name}},
    packages=[*find_packages(include=["dmglab*", "emulator*", "trainer_core*", "gui*"]), *FOLDERS],
    package_dir=FOLDERS,
    package_data={
        "dmglab": ["py.typed"],
        "gui": ["languages/*.json"],
        "": ["requirements.txt"],  # of the guests, each in its folder
        "trainer_core.runners.spade_bdi": ["plans/*.asl"],
        # What runs needs; how games and pictures are made stays in the source archive.
        "dmglab_assets": [
            "arc/*/*.json",
            "arc/*/*.py",
            "desktop/*.desktop",
            "fonts/*",
            "games/*/*.gb",
            "games/*/*.json",
            "games/*/*.sym",
            "games/*/*.toml",
            "icons/*.png",
            "icons/*.svg",
            "profiles/*.toml",
            "tasks/**/*",
        ],
        # What the app's manual shows.
        "dmglab_docs": ["guide/*.md", "reference/*.md", "images/app-*.png", "images/*.gif", "images/guide/*.png"],
    },
    exclude_package_data={"dmglab_docs": ["requirements.txt"]},
    include_package_data=False,
)
