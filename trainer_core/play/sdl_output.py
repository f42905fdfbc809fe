"""Sound output through SDL2's audio queue (PySDL2, the extra `play`).

https://wiki.libsdl.org/SDL2/SDL_QueueAudio. It is opened in a thread of its own, so that a sound server that does not
answer delays no frame. SDL_AUDIODRIVER selects another driver than the platform's; `disk` writes the samples to the
file named by SDL_DISKAUDIOFILE.
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
"""Bytes of one audio frame: two channels of 16 bits."""
PIECE = 2048
"""Frames that the card takes at once, 43 ms: with 512 a busy computer was sometimes too late."""

Said = Callable[[str, str], None]
"""Function `said(device, reason)`: the device that plays, or "" and the reason why none does."""


def why_no_device() -> str:
    """Return the reason why no sound card can be found; "" when there may be one.

    Checked before opening, because ALSA prints errors about missing devices.
    """
    told = desktop()
    if told.audio_driver or not sys.platform.startswith("linux"):
        return ""
    runtime = Path(told.runtime_folder or "/nowhere")
    servers = [runtime / "pulse" / "native", runtime / "pipewire-0", Path("/dev/snd")]
    return "" if told.pulse_server or any(path.exists() for path in servers) else "this computer has no sound"


class SdlOutput:
    """Sound output that plays once the device is open; what came before is dropped."""

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
        """Stop the sound; a device still being opened is closed afterwards."""
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
        """Open the device; return (driver, "") or ("", reason)."""
        tell_libraries_unless_told(SDL_NO_SIGNAL_HANDLERS="1")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it reports where it found the library
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
