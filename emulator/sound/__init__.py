"""Sound of one console, made beside the emulation (docs/adr/0015-sound-beside-the-game.md).

`register_slices` runs a console in parts of a frame and returns its sound registers after each; `waveforms`
has the four channels' shapes; `synthesiser` turns both into samples. The kernels do not depend on it.
"""

from emulator.sound.synthesiser import CHANNELS, Synthesiser, pcm, write_wav

__all__ = ["CHANNELS", "Synthesiser", "pcm", "write_wav"]
