"""What pyproject.toml cannot say: the folder `assets` travels as the package `dmglab_assets`.

Files on their way into a wheel lie below the system's folder for temporary files: `build/` in the
checkout would stay there, and a wheel made later would carry what has been deleted since.
"""

import tempfile

from setuptools import find_packages, setup

BUILD = tempfile.TemporaryDirectory(prefix="dmglab-build-")  # removed when this process ends

setup(
    options={"build": {"build_base": BUILD.name}},
    packages=[
        *find_packages(include=["emulator*", "trainer_core*", "gui*"]),
        "dmglab_assets",
    ],
    package_dir={"dmglab_assets": "assets"},
    package_data={
        "gui": ["languages/*.json"],
        "trainer_core.runners": ["requirements/*.txt"],
        # What runs needs; how games and pictures are made stays in the source archive.
        "dmglab_assets": [
            "arc/*/*.json",
            "arc/*/*.py",
            "desktop/*.desktop",
            "games/*/*.gb",
            "games/*/*.json",
            "games/*/*.sym",
            "games/*/*.toml",
            "icons/*.png",
            "icons/*.svg",
            "profiles/*.toml",
            "tasks/**/*",
        ],
    },
    include_package_data=False,
)
