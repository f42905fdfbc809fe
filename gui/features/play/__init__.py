"""Live play: one game in real time, played by a policy or the user; save slots, sound, keys, gamepad."""

from __future__ import annotations

from gui.features.play.ahead import PLAYER_AHEAD, PlayAhead
from gui.features.play.controller import PlayController
from gui.features.play.gamepad import Gamepad
from gui.features.play.keys import PLAY_KEYS, GameKeys, GameKeysPage
from gui.features.play.live import LiveView
from gui.features.play.saliency import SaliencyController
from gui.features.play.side import SidePanel
from gui.features.play.slots import SlotsController
from gui.features.play.sound import SoundController
from gui.features.play.strip import PlayStrip
from gui.features.train.wall import EnvWall
from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.state.context import Choice, Context, Feature, TabSpec
from gui.state.session import Place
from gui.state.task_preview import TaskPreview


def feature(context: Context) -> Feature:
    playing = context.add(PlayController(context.bridge, context.session, context.navigation, context.log))
    playing.changed.connect(context.situations.renew)
    slots = context.add(SlotsController(context.bridge, playing, context.notices, context.palette))
    sound = context.add(SoundController(playing, context.settings))
    saliency = context.add(SaliencyController(playing))
    keys = context.add(GameKeys(context.settings))
    gamepad = context.add(Gamepad())
    actions = context.actions
    ahead = context.add(PlayAhead(context.bridge, context.checkpoints, playing, context.settings))
    define_playing(actions, playing)
    define_slots(actions, slots, playing)
    define_sound(actions, sound)
    define_saliency(actions, saliency)

    def make_live() -> LiveView:
        strip = PlayStrip(playing, slots, sound, actions)
        return LiveView(
            playing,
            context.session,
            context.navigation,
            context.palette,
            context.checkpoints,
            strip,
            keys,
            gamepad,
            context.notices,
            saliency,
            SidePanel(playing, context.palette, context.home),
            context.appearance,
        )

    def finish() -> None:
        wall, live = context[EnvWall], context[LiveView]
        live.place_rest(TaskPreview(context.palette, context.session, context.home, is_stage=True), wall.console)
        wall.zoomed_changed.connect(live.show_console)
        context.situations.changed.connect(lambda: wall.leave_console(context.situations.now))
        context.appearance.screen_changed.connect(context[LiveView].screen_view.recolor)

    return Feature(
        tabs=[TabSpec(Place.LIVE, make_live)],
        finish=finish,
        ends=[playing.end, playing.player.ahead.end],
        choices=[
            Choice(
                PLAYER_AHEAD,
                tr("Prepare a player as soon as a checkpoint is selected or a ROM is being chosen"),
                tr("The agent then appears seconds after Deploy. This takes about 350 MB of memory for ten minutes."),
                changed=ahead.on_setting,
            )
        ],
        settings_pages=[(tr("Game"), lambda: GameKeysPage(keys, gamepad))],
        keys=[(tr(key), tr("Game: {words}", words=tr(words))) for key, words in PLAY_KEYS],
    )


def define_playing(registry: ActionRegistry, playing: PlayController) -> None:
    add, refusal, state = registry.add, playing.refusal, (playing.changed,)

    add("playGame", tr("Play the game"), playing.play_game, "Ctrl+G")
    add(
        "playPause",
        lambda: tr("Resume") if playing.paused else tr("Pause"),
        playing.toggle_pause,
        tip=tr("Pause or resume (Space)"),
        symbol=lambda: "play" if playing.paused else "pause",
        refusal=refusal,
        follows=state,
    )
    add("playStep", tr("One step"), playing.step, tip=tr("One step (.)"), symbol="step", refusal=refusal, follows=state)
    add("playRestart", tr("New episode"), playing.restart, symbol="restart", refusal=refusal, follows=state)
    add("endPlayer", tr("End the player"), playing.stop, symbol="stop", refusal=refusal, follows=state)
    add(
        "record",
        lambda: tr("Stop recording") if playing.recording else tr("Record"),
        playing.toggle_record,
        "Ctrl+R",
        short=lambda: tr("Stop") if playing.recording else tr("Record"),
        tip=tr("Save pictures and buttons for a replay"),
        is_on=lambda: playing.recording,
        refusal=playing.solo_refusal,
        follows=state,
    )
    add(
        "recordEpisode",
        tr("End recordings with the episode"),
        lambda: playing.set_until("stopped" if playing.until == "episode" else "episode"),
        tip=tr("Otherwise they continue until you stop them, for ten minutes at most"),
        is_on=lambda: playing.until == "episode",
        follows=state,
    )


def define_slots(registry: ActionRegistry, slots: SlotsController, playing: PlayController) -> None:
    add, changed = registry.add, (slots.changed,)
    add(
        "saveSlot",
        lambda: tr("Save state, slot {current}", current=slots.current),
        slots.save,
        "F5",
        refusal=playing.solo_refusal,
        follows=changed,
    )
    add(
        "loadSlot",
        lambda: tr("Load state, slot {current}", current=slots.current),
        slots.load,
        "F9",
        refusal=slots.load_refusal,
        follows=changed,
    )
    add("undoLoad", tr("Undo load"), slots.undo, "Shift+F9", refusal=slots.undo_refusal, follows=changed)


def define_sound(registry: ActionRegistry, sound: SoundController) -> None:
    registry.add(
        "mute",
        tr("Sound off"),
        sound.toggle_mute,
        "Ctrl+Shift+M",
        tip=tr("No sound is produced at all, which saves time"),
        is_on=lambda: sound.is_muted,
        follows=(sound.changed,),
    )


def define_saliency(registry: ActionRegistry, saliency: SaliencyController) -> None:
    registry.add(
        "saliency",
        tr("Saliency map of the policy"),
        saliency.toggle,
        "Ctrl+Shift+H",
        short=tr("Saliency map"),
        tip=tr("Highlight the parts of the picture that the policy's choice depends on most"),
        is_on=lambda: saliency.is_on,
        refusal=saliency.refusal,
        follows=(saliency.changed,),
    )
