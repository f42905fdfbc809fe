"""Which command is in which menu; what it does and is called says the registry."""

from __future__ import annotations

from PySide6.QtWidgets import QMenuBar

from gui import object_names as names
from gui.actions import ActionRegistry
from gui.words import tr

MENUS = {
    "&File": (
        "openRom", "showGames", "showLeague", "", "import", "importCurves", "importCurveFolder",
        "exportGif", "exportAs", "openHome", "diskUse", "", "settings", "", "quit",
    ),
    "&Run": (
        "trainNew", "start", "pause", "checkpoint", "stop", "",
        "newSweep", "stopSweep", "",
        "describeRun", "runColor", "queueEarlier", "queueLater", "resumeRun", "reuseConfig",
        "showError",
        "openRunFolder", "openLog", "openTensorBoard", "exportWandb", "",
        "archiveRun", "restoreRun", "",
        "pinRun", "showListed", "showSweep", "toggleSweep", "hideOthers", "compareRuns", "",
        "filterRuns", "runsCsv", "",
        "installRunner", "cancelInstall", "removeRunner", "",
        "useCpu", "fewerGameBoys", "openReceipt", "copyInstall",
    ),
    "&View": (
        *(f"dock.{name}" for name in (
            names.AGENT_DOCK, names.TRAINING_DOCK, names.TASK_DOCK, names.TELEMETRY_DOCK,
            names.RUNS_DOCK, names.CHECKPOINTS_DOCK, names.LOG_DOCK, names.MEMORY_DOCK,
        )), "",
        "themeDark", "themeLight", "",
        "screenGreen", "screenGrey", "screenPocket", "screenLight", "screenLcd", "",
        "ownCheckpoints", "", "undoView", "redoView", "fullScreen", "onlyCenter", "resetLayout",
    ),
    "&Curves": (
        "followCurves", "groupRange", "groupDeviation", "trimOutliers", "",
        "smoothDecaying", "smoothRunning", "smoothGaussian", "",
        "plotMaximise", "plotPin", "plotLog", "plotHide", "",
        "plotPng", "plotSvg", "plotCsv", "curvesCsv", "writeReport", "",
        "savedViews", "resetPlots",
    ),
    "&Play": (
        "playGame", "deploy", "deployBeside", "watchRun", "warmStart", "",
        "playPause", "playStep", "playRestart", "endPlayer", "mute", "saliency", "",
        "saveSlot", "loadSlot", "undoLoad", "savePicture", "",
        "record", "recordEpisode", "playOn", "",
        "openReplay", "openReplayFolder", "useAsDemo", "rollOpen", "rollUndo", "rollRedo",
        "rollInsert", "rollDelete", "rollSave", "rollPlayOn", "",
        "saveStart", "captureGoal", "makeTask", "trainTask", "newDraft", "",
        "locateRom", "forgetRom",
    ),
    "&Help": ("commandPalette", "shortcuts", "welcome", "", "bugReport"),
}  # fmt: skip
"""Ids of commands by menu; an empty one is a line between groups."""


def build_menus(bar: QMenuBar, registry: ActionRegistry) -> None:
    """Fill the bar. A command that is impossible now says why in its tooltip."""
    for title, ids in MENUS.items():
        menu = bar.addMenu(tr(title))
        menu.setToolTipsVisible(True)
        for action_id in ids:
            if action_id:
                menu.addAction(registry[action_id])
            else:
                menu.addSeparator()
