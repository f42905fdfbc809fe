"""Menus as lists of command ids; the registry has the commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from PySide6.QtWidgets import QMenu, QMenuBar

from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.state.context import RECENT

Entries = tuple["str | tuple[str, Entries]", ...]
MENUS: dict[str, Entries] = {
    "&File": (
        "openRom", (RECENT, ()), "showGames", ("Chosen game", ("makeStage", "locateRom", "forgetRom")), "",
        ("Import", ("import", "importCurves", "importCurveFolder")),
        ("Export", ("exportGif", "exportAs")), "",
        "openHome", "diskUse", "settings", "", "quit",
    ),
    "&Run": (
        "trainNew", "start", "pause", "checkpoint", "stop", "",
        "resumeRun", "reuseConfig",
        ("This run", (
            "describeRun", "showError", "", "openRunFolder", "openLog", "openTensorBoard", "openWandb",
            "exportWandb", "",
            "archiveRun", "restoreRun",
        )),
        ("Show and compare", (
            "pinRun", "showListed", "hideOthers", "compareRuns", "runColor", "filterRuns", "runsCsv",
        )), "",
        ("Queue", ("queueEarlier", "queueLater", "", "keepRunning")),
        ("Sweep", ("newSweep", "stopSweep", "showSweep", "toggleSweep")),
        ("Trainers", (
            "installRunner", "cancelInstall", "removeRunner", "",
            ("Datasets", ("downloadDataset", "verifyDataset", "cancelDataset", "", "pruneDatasets")), "",
            "moreOptions", "sendToWandb",
        )),
    ),
    "&View": (
        ("Panels", tuple(f"dock.{name}" for name in (
            names.AGENT_DOCK, names.TRAINING_DOCK, names.TASK_DOCK, names.TELEMETRY_DOCK,
            names.RUNS_DOCK, names.CHECKPOINTS_DOCK, names.LOG_DOCK, names.MEMORY_DOCK,
        ))), "",
        "themeDark", "themeLight",
        ("Game's screen", (
            "screenDmg", "screenGrey", "screenPocket", "screenLight", "", "screenLcd",
            "wholePixels",
        )), "",
        "ownCheckpoints", "", "undoView", "redoView", "fullScreen", "onlyCenter", "resetLayout",
    ),
    "&Curves": (
        "followCurves", "groupRange", "groupDeviation", "trimOutliers", "plotLogX", "",
        ("Smoothing", ("smoothDecaying", "smoothRunning", "smoothGaussian")),
        ("Plot", (
            "plotFit", "plotMaximise", "plotPin", "plotLog", "plotHide", "",
            "plotPng", "plotSvg", "plotCsv", "plotCopy",
        )),
        ("Export", ("curvesCsv", "writeReport", "writeReportPdf")), "",
        "savedViews", "resetPlots",
    ),
    "&Play": (
        "playGame", "deploy", "watchRun",
        ("Checkpoint", ("deployBeside", "warmStart", "showLeague")), "",
        "playPause", "endPlayer",
        ("While it plays", ("playStep", "playRestart", "", "mute", "saliency", "savePicture")),
        ("Save slots", ("saveSlot", "loadSlot", "undoLoad")), "",
        "record",
        ("Recordings", ("recordEpisode", "openReplay", "openReplayFolder", "playOn", "useAsDemo")),
        ("Buttons of a recording", (
            "rollOpen", "rollUndo", "rollRedo", "rollInsert", "rollDelete", "rollSave",
            "rollPlayOn",
        )), "",
        ("New task", ("saveStart", "captureGoal", "makeTask", "trainTask", "newDraft")),
    ),
    "&Help": (
        "manual", "whatsNew", "shortcuts", "commandPalette", "welcome", "", "bugReport", "", "about",
    ),
}  # fmt: skip
"""Command ids by menu title; "" is a separator, a pair is a submenu.

Commands that help after a failure are in the notices and the command palette.
"""


def command_ids(entries: Entries) -> Iterator[str]:
    """Yield the command ids of a menu and of its submenus."""
    for entry in entries:
        if isinstance(entry, tuple):
            yield from command_ids(entry[1])
        elif entry:
            yield entry


def build_menus(bar: QMenuBar, registry: ActionRegistry, own: Mapping[str, QMenu]) -> None:
    """Fill the menu bar.

    `own` has, by English title, the menus that a feature fills itself. The tooltip of a disabled command says why.
    """
    for title, entries in MENUS.items():
        _fill(bar.addMenu(tr(title)), entries, registry, own)


def _fill(menu: QMenu, entries: Entries, registry: ActionRegistry, own: Mapping[str, QMenu]) -> None:
    menu.setToolTipsVisible(True)
    for entry in entries:
        if isinstance(entry, tuple):
            title, inner = entry
            if title in own:
                menu.addMenu(own[title])
            else:
                _fill(menu.addMenu(tr(title)), inner, registry, own)
        elif entry:
            menu.addAction(registry[entry])
        else:
            menu.addSeparator()
