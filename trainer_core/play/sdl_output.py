"""The sound card through SDL2's audio queue (PySDL2, the extra `play`).

https://wiki.libsdl.org/SDL2/SDL_QueueAudio. It is opened in a thread of its own: a sound server
that does not answer holds no frame up. SDL_AUDIODRIVER picks another way out than the platform's;
`disk` writes the samples to the file that SDL_DISKAUDIOFILE names.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer_core.wire.environment import desktop, tell_libraries_unless_told

RATE = 48_000
FRAME_BYTES = 4
"""Two channels of 16 bits."""
PIECE = 2048
"""Frames that the card takes at once, 43 ms: with 512 a busy computer came too late for some."""

Said = Callable[[str, str], None]
"""`said(device, reason)`: which device plays, or "" and why none does."""


def why_no_device() -> str:
    """Why it is no use to look for a sound card; empty when one may be there.

    Asked first, because ALSA complains on standard error about what is not there.
    """
    told = desktop()
    if told.audio_driver or not sys.platform.startswith("linux"):
        return ""
    runtime = Path(told.runtime_folder or "/nowhere")
    servers = [runtime / "pulse" / "native", runtime / "pipewire-0", Path("/dev/snd")]
    return "" if told.pulse_server or any(path.exists() for path in servers) else "this computer has no sound"


class SdlOutput:
    """Plays as soon as the device is open; what comes before is not kept."""

    rate = RATE

    def __init__(self, said: Said) -> None:
        self._said = said
        self._sdl: Any = None
        self._device = 0
        self._lock = threading.Lock()
        self._is_closed = False
        threading.Thread(target=self._open, daemon=True).start()

    @property
    def waiting_s(self) -> float | None:
        device = self._device
        if not device:
            return None
        return self._sdl.SDL_GetQueuedAudioSize(device) / (FRAME_BYTES * RATE)

    def play(self, data: bytes) -> None:
        if self._device:
            self._sdl.SDL_QueueAudio(self._device, data, len(data))

    def close(self) -> None:
        """Ends the sound; a device that is still being opened is closed when it is."""
        with self._lock:
            self._is_closed = True
            if self._device:
                device, self._device = self._device, 0
                self._sdl.SDL_CloseAudioDevice(device)

    def _open(self) -> None:
        device, reason = "", why_no_device()
        if not reason:
            device, reason = self._open_device()
        self._said(device, reason)

    def _open_device(self) -> tuple[str, str]:
        """(driver, "") or ("", why not)."""
        tell_libraries_unless_told(SDL_NO_SIGNAL_HANDLERS="1")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it tells where it found the library
                import sdl2
        except ImportError as error:
            return "", f"{error}; install PySDL2 with: pip install 'dmglab[play]'"
        self._sdl = sdl2
        if sdl2.SDL_InitSubSystem(sdl2.SDL_INIT_AUDIO) != 0:
            return "", sdl2.SDL_GetError().decode(errors="replace")
        wanted = sdl2.SDL_AudioSpec(RATE, sdl2.AUDIO_S16LSB, 2, PIECE)
        device = sdl2.SDL_OpenAudioDevice(None, 0, wanted, None, 0)
        if not device:
            return "", sdl2.SDL_GetError().decode(errors="replace")
        with self._lock:
            if self._is_closed:
                sdl2.SDL_CloseAudioDevice(device)
                return "", "closed"
            sdl2.SDL_PauseAudioDevice(device, 0)
            self._device = device
        return sdl2.SDL_GetCurrentAudioDriver().decode(), ""
