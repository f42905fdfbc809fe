"""Sound of consoles, made beside the emulation: exact outputs of the channels, and samples from them.

`channels` runs an emulator and returns what each sound channel puts out; `synthesiser` mixes that to samples.
"""

from emulator.sound.channels import Channels
from emulator.sound.synthesiser import Synthesiser, pcm, write_wav

__all__ = ["Channels", "Synthesiser", "pcm", "write_wav"]
